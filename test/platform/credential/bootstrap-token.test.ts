import { describe, expect, it } from 'vitest';
import { bootstrapToken, type SeedOutcome } from '../../../src/platform/credential/token-file.js';
import type { Vault } from '../../../src/platform/credential/vault.js';
import { startHttpPlatform } from '../../support/raw-platform.js';
import {
  ALICE,
  type Credential,
  openScene,
  PEPPER,
  PROBE,
  type Scene,
  secretsIn,
  staged,
} from './credential-harness.js';

const seed = (secret: string, expiresAt: string | null = null) => ({
  secret,
  source: 'seed' as const,
  expiresAt,
});
/** @returns what became of it, and the vault afterwards */
async function plant(
  { keeper, rotation, log }: Credential,
  secret: string,
  expiresAt: string | null = null,
): Promise<Vault & { outcome: SeedOutcome }> {
  const options = { keeper, rotation, pepper: () => PEPPER, logger: log.logger };
  const outcome = await bootstrapToken(seed(secret, expiresAt), options);
  return { ...keeper.vault(), outcome };
}
const verifiedAt = (scene: Credential) => scene.keeper.vault().active?.verifiedAt;

describe('a seed in an empty vault', () => {
  it('is verified and activated', async () => {
    const scene = await openScene();
    const vault = await plant(scene, scene.simulator.token);
    expect(vault.outcome).toBe('active');
    expect(vault.active).toMatchObject({ source: 'seed', verifiedAt: '2026-11-21T12:00:00.000Z' });
    expect(secretsIn(scene)).toEqual({ active: scene.simulator.token, pending: null, previous: null });
    expect(await scene.actions()).toEqual(['token.stage', 'token.verify', 'token.activate']);
    expect(await scene.audit()).toMatchObject([
      { actor: 'gateway' },
      { actor: 'gateway' },
      { actor: 'gateway' },
    ]);
  });

  it('is activated when nothing can prove it: there is no probe', async () => {
    const scene = await openScene({ probe: null });
    await plant(scene, 'whatever');
    expect(secretsIn(scene).active).toBe('whatever');
    expect(verifiedAt(scene)).toBeNull();
    // A first start is no warning.
    expect(scene.log.messages('warn')).toEqual([]);
    expect(scene.log.messages('info')).toContain(
      'the seeded platform token is used unproven until the platform answers to it',
    );
  });

  it('is activated when nothing can prove it: the platform is away', async () => {
    const scene = await openScene();
    scene.simulator.fault({ kind: 'status', status: 503 });
    await plant(scene, scene.simulator.token);
    expect(secretsIn(scene).active).toBe(scene.simulator.token);
    expect(verifiedAt(scene)).toBeNull();
  });

  it('stays pending when the platform refuses it', async () => {
    const scene = await openScene();
    expect((await plant(scene, 'revoked long ago')).outcome).toBe('refused');
    expect(secretsIn(scene)).toEqual({ active: null, pending: 'revoked long ago', previous: null });
    expect(scene.log.lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'the seeded platform token stays pending',
      reason: 'The platform refused the token; no token is active.',
    });
  });

  it('is not activated when it has expired, and the gateway starts all the same', async () => {
    const scene = await openScene();
    await plant(scene, scene.simulator.token, '2026-11-20T00:00:00.000Z');
    expect(secretsIn(scene).active).toBeNull();
    expect(scene.log.lines.at(-1)).toMatchObject({
      msg: 'the seeded platform token was not activated',
      reason: 'The pending token has expired.',
    });
  });

  it('has the expiry it was given', async () => {
    const scene = await openScene();
    const { active } = await plant(scene, scene.simulator.token, '2027-05-01T00:00:00.000Z');
    expect(active).toMatchObject({ expiresAt: '2027-05-01T00:00:00.000Z', expiryKnown: true });
  });
});

describe('a seed beside an active token', () => {
  async function openWithActive(probe: string | null = PROBE): Promise<Scene> {
    const scene = await openScene({ probe });
    await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
    return scene;
  }

  it('that was never in the vault is verified and activated', async () => {
    const scene = await openWithActive();
    const next = scene.simulator.issueToken();
    await plant(scene, next);
    expect(secretsIn(scene)).toEqual({ active: next, pending: null, previous: scene.simulator.token });
  });

  it('stays pending when nothing can prove it, and becomes active at a later start that can', async () => {
    const scene = await openWithActive(null);
    const next = scene.simulator.issueToken();
    expect((await plant(scene, next)).outcome).toBe('unproven');
    expect(secretsIn(scene)).toEqual({ active: scene.simulator.token, pending: next, previous: null });
    const restarted = await scene.another({ probe: PROBE });
    await plant(restarted, next);
    expect(secretsIn(restarted)).toEqual({ active: next, pending: null, previous: scene.simulator.token });
  });

  it('stays pending when the platform refuses it', async () => {
    const scene = await openWithActive();
    await plant(scene, 'wrong');
    expect(secretsIn(scene)).toEqual({ active: scene.simulator.token, pending: 'wrong', previous: null });
  });
});

describe('a seed that was in the vault before', () => {
  it('never undoes a rotation, however often the gateway is restarted', async () => {
    const scene = await openScene();
    const first = scene.simulator.token;
    await plant(scene, first);
    await scene.rotation.rotate(staged(scene.simulator.issueToken()), false, ALICE);
    await scene.rotation.rotate(staged(scene.simulator.issueToken()), false, ALICE);
    // Out of every slot by now, and still known.
    const before = scene.keeper.vault();
    expect(Object.values(secretsIn(scene))).not.toContain(first);
    for (let restart = 0; restart < 3; restart++) {
      const restarted = await scene.another();
      expect((await plant(restarted, first)).outcome).toBe('left');
      expect(restarted.keeper.vault()).toEqual(before);
    }
    expect((await scene.actions()).filter((action) => action === 'token.stage')).toHaveLength(3);
  });

  it('is not taken up again when an operator discarded it', async () => {
    const scene = await openScene();
    await plant(scene, 'refused');
    await scene.rotation.discard(ALICE);
    await plant(scene, 'refused');
    expect(secretsIn(scene)).toEqual({ active: null, pending: null, previous: null });
  });

  it('is left alone when it is the one that an operator staged', async () => {
    const scene = await openScene();
    await plant(scene, scene.simulator.token);
    const next = scene.simulator.issueToken();
    await scene.rotation.stage(staged(next), ALICE);
    await plant(scene, next);
    expect(secretsIn(scene)).toEqual({ active: scene.simulator.token, pending: next, previous: null });
  });

  it('does not stop the start when it is the active one', async () => {
    const scene = await openScene();
    await scene.rotation.rotate(staged('the same'), true, ALICE);
    await plant(scene, 'the same');
    expect(secretsIn(scene)).toEqual({ active: 'the same', pending: null, previous: null });
  });
});

describe('a seed that several processes plant', () => {
  it('is active in the end, once, whoever was faster', async () => {
    for (const probe of [PROBE, null]) {
      const scene = await openScene({ probe });
      const replicas = [scene, ...(await Promise.all([1, 2, 3].map(() => scene.another())))];
      await Promise.all(replicas.map((replica) => plant(replica, scene.simulator.token)));
      for (const replica of replicas) {
        await replica.keeper.refresh();
        expect(secretsIn(replica)).toEqual({ active: scene.simulator.token, pending: null, previous: null });
      }
      expect((await scene.actions()).filter((action) => action === 'token.activate')).toHaveLength(1);
    }
  });

  it('is taken further by the next when one ended half-way', async () => {
    const scene = await openScene();
    await scene.rotation.plant(seed(scene.simulator.token), ALICE);
    // The first process was killed here.
    const next = await scene.another();
    await plant(next, scene.simulator.token);
    expect(secretsIn(next)).toEqual({ active: scene.simulator.token, pending: null, previous: null });
  });

  it('is not activated when an operator staged another while it was being proven', async () => {
    const scene = await openScene();
    await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
    let go = () => {};
    let noteAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      noteAsked = resolve;
    });
    const slow = await startHttpPlatform((_request, response) => {
      go = () => void response.end('{}');
      noteAsked();
    });
    const starting = await scene.another({ baseUrl: slow.url });
    const planting = plant(starting, 'the seed');
    await asked;
    await scene.keeper.refresh();
    await scene.rotation.stage(staged("the operator's"), ALICE);
    go();
    await planting;
    expect(secretsIn(starting)).toEqual({
      active: scene.simulator.token,
      pending: "the operator's",
      previous: null,
    });
    expect(starting.log.lines.at(-1)).toMatchObject({ msg: 'the seeded platform token was not activated' });
  });
});
