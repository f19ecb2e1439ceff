import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Leases, StoreUnavailable } from '../../../src/store/port.js';
import { MINUTE } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';
import { ALICE, type Credential, openScene, type Scene, secretsIn, staged } from './credential-harness.js';

const HEAL_LEASE = 'lease:{credential}:recover';
const activeId = ({ keeper }: Credential) => keeper.vault().active?.id ?? '';

/** A scene with an active token. */
async function openActive(options: Parameters<typeof openScene>[0] = {}): Promise<Scene> {
  const scene = await openScene(options);
  await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
  return scene;
}

/** The platform refuses the active token; the calls of one replica say so. */
const refuse = (replica: Credential) => replica.tokenRecovery.refused(activeId(replica));

const mintFault = { kind: 'status', status: 500, path: '/oauth/token', times: 0 } as const;

describe('the token that takes the place of a refused one', () => {
  it('is the pending one when it is verified', async () => {
    const scene = await openActive();
    const next = scene.simulator.issueToken();
    await scene.rotation.stage(staged(next), ALICE);
    await scene.rotation.verify(ALICE);
    expect(await refuse(scene)).toBe(true);
    expect(secretsIn(scene)).toEqual({ active: next, pending: null, previous: scene.simulator.token });
    expect(scene.mints()).toBe(0);
    expect((await scene.audit()).at(-1)).toMatchObject({ action: 'token.recover', actor: 'gateway' });
  });

  it.each([
    ['not verified', null, false],
    ['expired', '2026-11-21T12:00:10.000Z', true],
  ])('is a minted one when the pending one is %s', async (_what, expiresAt, verify) => {
    const scene = await openActive();
    await scene.rotation.stage(staged(scene.simulator.issueToken(), expiresAt), ALICE);
    if (verify) await scene.rotation.verify(ALICE);
    scene.clock.pass(10_000);
    expect(await refuse(scene)).toBe(true);
    expect(scene.keeper.vault().active?.source).toBe('minted');
    expect(scene.mints()).toBe(1);
  });

  it('is a minted one when there is no other', async () => {
    const scene = await openActive();
    expect(await refuse(scene)).toBe(true);
    const { active, previous } = scene.keeper.vault();
    expect(active).toMatchObject({ source: 'minted', verifiedAt: '2026-11-21T12:00:00.000Z' });
    expect(previous).toMatchObject({ secret: scene.simulator.token, refusedAt: '2026-11-21T12:00:00.000Z' });
    expect(await scene.tokenRecovery.current()).toEqual({ id: active?.id, token: active?.secret });
  });

  it.each([
    ['there is no token request', { mint: null }],
    ['the token request fails', {}],
    ['the minted one cannot be proven', {}],
  ])('is the previous one when %s', async (what, options) => {
    const scene = await openActive(options);
    const first = scene.simulator.token;
    const second = scene.simulator.issueToken();
    await scene.rotation.rotate(staged(second), false, ALICE);
    if (what.includes('proven')) scene.simulator.fault({ kind: 'status', status: 500, path: '/report/' });
    else scene.simulator.fault(mintFault);
    expect(await refuse(scene)).toBe(true);
    expect(secretsIn(scene)).toEqual({ active: first, pending: null, previous: second });
  });

  it('is not a previous one that has expired', async () => {
    const scene = await openScene({ mint: null });
    await scene.rotation.rotate(staged('first', '2026-11-21T13:00:00.000Z'), true, ALICE);
    await scene.rotation.rotate(staged('second'), true, ALICE);
    scene.clock.pass(60 * MINUTE);
    expect(await refuse(scene)).toBe(false);
    expect(secretsIn(scene).active).toBe('second');
  });

  it('is not a previous one that was refused itself: two bad tokens do not change places for ever', async () => {
    const scene = await openScene({ mint: null });
    await scene.rotation.rotate(staged('first'), true, ALICE);
    await scene.rotation.rotate(staged('second'), true, ALICE);
    expect(await refuse(scene)).toBe(true);
    expect(secretsIn(scene)).toMatchObject({ active: 'first', previous: 'second' });
    for (let round = 0; round < 5; round++) {
      expect(await refuse(scene)).toBe(false);
      scene.clock.pass(2 * MINUTE);
    }
    expect(secretsIn(scene)).toMatchObject({ active: 'first', previous: 'second' });
    // An operator who knows better may; until the platform accepts it, it is known as refused.
    await expect(scene.rotation.rollback(false, ALICE)).rejects.toMatchObject({ code: 'conflict' });
    const { active } = await scene.rotation.rollback(true, ALICE);
    expect(active?.refusedAt).toEqual(expect.any(String));
    expect(await scene.tokenRecovery.current()).toMatchObject({ token: 'second' });
    scene.tokenRecovery.accepted(active?.id ?? '');
    await scene.evidence.flush();
    expect(scene.keeper.vault().active?.refusedAt).toBeNull();
  });

  it('is not the refused one once more, though the platform hands it out', async () => {
    const scene = await openScene({
      mint: async () => ({ secret: 'always the same', expiresInS: null }),
      probe: null,
    });
    await scene.rotation.rotate(null, false, ALICE);
    expect(await refuse(scene)).toBe(false);
    await expect(scene.tokenRecovery.current()).rejects.toMatchObject({ code: 'credential_unavailable' });
  });

  it('is there already when another was activated meanwhile: nothing is done', async () => {
    const scene = await openActive();
    const refused = activeId(scene);
    await scene.rotation.rotate(staged(scene.simulator.issueToken()), false, ALICE);
    const before = await scene.actions();
    expect(await scene.tokenRecovery.refused(refused)).toBe(true);
    expect(await scene.actions()).toEqual(before);
  });

  it('is there already when another replica put it there, though its message was lost', async () => {
    const scene = await openActive();
    const other = await scene.another();
    expect(await refuse(scene)).toBe(true);
    // The other does not know yet, and was refused with the old token, too.
    expect(other.keeper.vault().active?.secret).toBe(scene.simulator.token);
    expect(await refuse(other)).toBe(true);
    expect(other.keeper.vault()).toEqual(scene.keeper.vault());
    expect(scene.mints()).toBe(1);
  });

  it('shows in no log line', async () => {
    const scene = await openActive();
    await refuse(scene);
    scene.simulator.fault(mintFault);
    await refuse(scene);
    for (const secret of Object.values(secretsIn(scene))) {
      if (secret !== null) expect(scene.log.text).not.toContain(secret);
    }
    const { password, clientSecret } = scene.simulator.account;
    for (const secret of [password, clientSecret]) expect(scene.log.text).not.toContain(secret);
  });
});

describe('many who are refused at once', () => {
  it('cost one token request in a process', async () => {
    const scene = await openActive();
    const refused = activeId(scene);
    const recovered = await Promise.all(
      Array.from({ length: 200 }, () => scene.tokenRecovery.refused(refused)),
    );
    expect(recovered.every((is) => is)).toBe(true);
    expect(scene.mints()).toBe(1);
    expect((await scene.actions()).filter((action) => action === 'token.recover')).toHaveLength(1);
  });

  it('cost one token request in all replicas', async () => {
    const scene = await openActive();
    const replicas = [scene, await scene.another(), await scene.another()];
    const recovered = await Promise.all(
      replicas.flatMap((replica) => Array.from({ length: 20 }, () => refuse(replica))),
    );
    expect(recovered.every((is) => is)).toBe(true);
    expect(scene.mints()).toBe(1);
    expect(new Set(replicas.map(activeId)).size).toBe(1);
  });

  it('cost one failed token request in all replicas, and then all rest', async () => {
    const scene = await openActive();
    scene.simulator.fault(mintFault);
    const replicas = [scene, await scene.another(), await scene.another()];
    const recovered = await Promise.all(replicas.map(refuse));
    expect(recovered).toEqual([false, false, false]);
    expect(scene.mints()).toBe(1);
    for (const { tokenRecovery, evidence } of replicas) {
      expect(evidence.proof()).toBe('refused');
      await expect(tokenRecovery.current()).rejects.toMatchObject({
        code: 'credential_unavailable',
        status: 503,
        options: { retryAfterS: 2 },
      });
    }
  });
});

describe('a platform that cannot be recovered', () => {
  it('is asked for a token at 0, 2, 6, 14 … seconds, and then once a minute', async () => {
    const scene = await openActive();
    scene.simulator.fault(mintFault);
    const askedAt: number[] = [];
    let mints = 0;
    for (let second = 0; second <= 300; second++) {
      // Calls never stop, and each is refused.
      await refuse(scene);
      if (scene.mints() > mints) askedAt.push(second);
      mints = scene.mints();
      scene.clock.pass(1000);
    }
    expect(askedAt).toEqual([0, 2, 6, 14, 30, 62, 122, 182, 242]);
  });

  it('is asked for a token three times in a burst, all replicas together', async () => {
    const scene = await openActive();
    scene.simulator.fault(mintFault);
    const replicas = [scene, await scene.another(), await scene.another()];
    for (let tenth = 0; tenth < 100; tenth++) {
      for (const replica of replicas) await refuse(replica);
      scene.clock.pass(100);
    }
    expect(scene.mints()).toBeLessThanOrEqual(3);
    expect(scene.mints()).toBeGreaterThan(1);
  });

  it('that refuses each token it hands out is asked three times a minute, all replicas together', async () => {
    const scene = await openActive();
    const replicas = [scene, await scene.another()];
    for (const [minute, mints] of [
      [1, 3],
      [2, 6],
    ] as const) {
      for (let second = 0; second < 58; second++) {
        for (const replica of replicas) {
          await replica.keeper.refresh();
          await refuse(replica);
        }
        scene.clock.pass(1000);
      }
      expect(scene.mints(), `in minute ${minute}`).toBe(mints);
      // Past the minute of the first one, and past whatever rest there is.
      scene.clock.pass(2 * MINUTE);
    }
    expect(replicas.flatMap(({ log }) => log.messages('error'))).toContain(
      'platform still rejects tokens; backing off before the next attempt',
    );
  });

  it('begins anew with the rests when it was well for a while', async () => {
    const scene = await openActive();
    scene.simulator.fault(mintFault);
    await refuse(scene);
    scene.clock.pass(2000);
    await refuse(scene);
    await expect(scene.tokenRecovery.current()).rejects.toMatchObject({ options: { retryAfterS: 4 } });
    scene.clock.pass(4000);
    // The token is worth another try, and is accepted for ten minutes.
    expect(await scene.tokenRecovery.current()).toMatchObject({ token: scene.simulator.token });
    scene.clock.pass(10 * MINUTE);
    await refuse(scene);
    await expect(scene.tokenRecovery.current()).rejects.toMatchObject({ options: { retryAfterS: 2 } });
  });

  it('is asked with the new token at once when an operator puts one there', async () => {
    const scene = await openActive();
    scene.simulator.fault(mintFault);
    await refuse(scene);
    expect(scene.evidence.proof()).toBe('refused');
    const next = scene.simulator.issueToken();
    await scene.rotation.rotate(staged(next), false, ALICE);
    expect(scene.evidence.proof()).toBe('accepted');
    expect(await scene.tokenRecovery.current()).toMatchObject({ token: next });
  });
});

describe('a replica that recovers', () => {
  it('is waited for by the others', async () => {
    const scene = await openActive();
    await scene.store.leases.claim([HEAL_LEASE], 'another replica', 30_000);
    const other = await scene.another();
    const waiting = refuse(scene);
    await other.rotation.rotate(staged(scene.simulator.issueToken()), false, ALICE);
    await scene.keeper.refresh();
    expect(await waiting).toBe(true);
    expect(scene.mints()).toBe(0);
  });

  it('is replaced by another when it dies over it', async () => {
    const scene = await openActive();
    await scene.store.leases.claim([HEAL_LEASE], 'a replica that dies', 30_000);
    const waiting = refuse(scene);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(scene.mints()).toBe(0);
    scene.clock.pass(30_000);
    expect(await waiting).toBe(true);
    expect(scene.mints()).toBe(1);
  });

  it('is replaced within 5 seconds when it is killed over it, though it had the lease', async () => {
    const scene = await openActive();
    // What is killed renews nothing, and never comes to an end.
    const killed = await scene.another({
      mint: () => new Promise(() => {}),
      leases: { ...scene.store.leases, renew: () => new Promise(() => {}) },
    });
    void refuse(killed);
    await waitFor(
      'the lease to be held',
      async () => !(await scene.store.leases.claim([HEAL_LEASE], 'a look', 1))[0],
    );
    const waiting = refuse(scene);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(scene.mints()).toBe(0);
    scene.clock.pass(5000);
    const stalled = new Promise((resolve) => setTimeout(resolve, 2000, 'it still waits'));
    expect(await Promise.race([waiting, stalled])).toBe(true);
    expect(scene.mints()).toBe(1);
  });

  it('lets go of its lease, be it successful or not', async () => {
    const scene = await openActive();
    await refuse(scene);
    expect(await scene.store.leases.claim([HEAL_LEASE], 'me', 1)).toEqual([true]);
    await scene.store.leases.release([HEAL_LEASE], 'me');
    scene.simulator.fault(mintFault);
    await refuse(scene);
    expect(await scene.store.leases.claim([HEAL_LEASE], 'me', 1)).toEqual([true]);
  });

  it('keeps its lease for as long as it takes', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let answer = () => {};
    const scene = await openActive({
      mint: () =>
        new Promise((resolve) => {
          answer = () => resolve({ secret: 'minted', expiresInS: null });
        }),
      probe: null,
    });
    const asked = answer;
    const recovery = refuse(scene);
    await waitFor('the token request', () => answer !== asked);
    for (let step = 0; step < 120; step++) {
      scene.clock.pass(1000);
      await vi.advanceTimersByTimeAsync(1000);
      // A renewal is a write of the store's: it is through before this one is answered.
      await scene.store.leases.claim(['any other'], 'nobody', 1);
    }
    expect(await scene.store.leases.claim([HEAL_LEASE], 'another', 1)).toEqual([false]);
    answer();
    expect(await recovery).toBe(true);
    expect(await scene.store.leases.claim([HEAL_LEASE], 'another', 1)).toEqual([true]);
  });
});

describe('a store that is away', () => {
  function leasesThat(fail: keyof Leases, real: Leases): Leases {
    return { ...real, [fail]: () => Promise.reject(new StoreUnavailable('away')) };
  }

  it('recovers nothing, and nothing is broken by it', async () => {
    const scene = await openActive();
    const broken = await scene.another({ leases: leasesThat('claim', scene.store.leases) });
    expect(await refuse(broken)).toBe(false);
    expect(broken.log.messages('error')).toEqual(['failed to recover the platform credential']);
    await expect(broken.tokenRecovery.current()).rejects.toMatchObject({ code: 'credential_unavailable' });
    expect(scene.mints()).toBe(0);
  });

  it.each([
    ['who is to recover', HEAL_LEASE],
    ['whether another replica has failed', 'lease:{credential}:rest:'],
  ])('is asked again where it was late once to say %s: callers see nothing of it', async (_what, asked) => {
    const scene = await openActive();
    const { leases } = scene.store;
    let isLate = true;
    const replica = await scene.another({
      leases: {
        ...leases,
        async claim(keys, ...rest) {
          // Granted, and told too late.
          const granted = await leases.claim(keys, ...rest);
          if (!isLate || !keys[0]?.startsWith(asked)) return granted;
          isLate = false;
          throw new StoreUnavailable('late');
        },
      },
    });
    expect(await refuse(replica)).toBe(true);
    expect(isLate).toBe(false);
    expect(scene.mints()).toBe(1);
    expect(await leases.claim([HEAL_LEASE], 'another', 1)).toEqual([true]);
  });

  it('is tried again soon, however long it was away: it says nothing of the token', async () => {
    const scene = await openActive();
    const store = { isAway: true };
    const { leases } = scene.store;
    const replica = await scene.another({
      leases: {
        ...leases,
        claim: (...args) =>
          store.isAway ? Promise.reject(new StoreUnavailable('away')) : leases.claim(...args),
      },
    });
    for (let at = 0; at < 8; at += 1) {
      expect(await refuse(replica)).toBe(false);
      await expect(replica.tokenRecovery.current()).rejects.toMatchObject({ options: { retryAfterS: 2 } });
      scene.clock.pass(2000);
    }
    store.isAway = false;
    expect(await refuse(replica)).toBe(true);
    expect(scene.mints()).toBe(1);
  });

  it('does not spoil a recovery that was done before', async () => {
    const scene = await openActive();
    const broken = await scene.another({ leases: leasesThat('release', scene.store.leases) });
    expect(await refuse(broken)).toBe(true);
    expect(broken.log.messages('warn')).toContain(
      'failed to release the lease for recovery; it expires by itself',
    );
    expect((await broken.tokenRecovery.current()).token).toBe(secretsIn(broken).active);
  });
});

describe('making sure that there is a token', () => {
  it('does nothing when there is one', async () => {
    const scene = await openActive();
    const before = await scene.actions();
    expect(await scene.tokenRecovery.ensure()).toBe(true);
    expect(await scene.actions()).toEqual(before);
    expect(scene.mints()).toBe(0);
  });

  it('mints the first one, once for all replicas that start', async () => {
    const scene = await openScene();
    const replicas = [scene, await scene.another(), await scene.another()];
    expect(await Promise.all(replicas.map(({ tokenRecovery }) => tokenRecovery.ensure()))).toEqual([
      true,
      true,
      true,
    ]);
    expect(scene.mints()).toBe(1);
    expect(scene.keeper.vault()).toMatchObject({
      active: { source: 'minted' },
      pending: null,
      previous: null,
    });
  });

  it('says that there is none when nothing can give one', async () => {
    const scene = await openScene({ mint: null });
    expect(await scene.tokenRecovery.ensure()).toBe(false);
    await expect(scene.tokenRecovery.current()).rejects.toMatchObject({
      code: 'credential_unavailable',
      status: 503,
    });
  });

  it('replaces one whose time is over, before the platform is asked with it', async () => {
    const scene = await openScene({ switches: { tokenTtlSeconds: 60 } });
    await scene.tokenRecovery.ensure();
    const first = secretsIn(scene).active;
    scene.clock.pass(MINUTE);
    const { token } = await scene.tokenRecovery.current();
    expect(token).not.toBe(first);
    expect(token).toBe(secretsIn(scene).active);
    expect(scene.mints()).toBe(2);
  });

  it('takes the same token once more when only its expiry was assumed', async () => {
    const scene = await openScene({
      mint: async () => ({ secret: 'always the same', expiresInS: 60 }),
      probe: null,
    });
    await scene.tokenRecovery.ensure();
    const first = activeId(scene);
    scene.clock.pass(MINUTE);
    expect(await scene.tokenRecovery.current()).toEqual({ id: first, token: 'always the same' });
    expect(scene.keeper.vault().active?.expiresAt).toBe('2026-11-21T12:02:00.000Z');
  });

  it('says that there is none when the vault cannot be opened', async () => {
    const scene = await openActive();
    await scene.registry.commit({ writes: new Map([['vault', '{"active":{"sealed":"x"}}']]) });
    await expect(scene.tokenRecovery.current()).rejects.toMatchObject({ code: 'credential_unavailable' });
  });
});
