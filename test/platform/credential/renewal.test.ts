import { describe, expect, it } from 'vitest';
import { createRenewal } from '../../../src/platform/credential/credential.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { ALICE, type Credential, openScene, secretsIn, staged } from './credential-harness.js';

const PATH = '/oauth/token';

/** A minted token that lives a year, and its renewal by a leader. */
async function openRenewing(options: Parameters<typeof openScene>[0] = {}, jitter = 0) {
  const scene = await openScene(options);
  await scene.rotation.rotate(null, false, ALICE);
  const renewalOf = ({ keeper, rotation, clock, log }: Credential) =>
    createRenewal({ keeper, rotation, clock, logger: log.logger, renewBeforeMs: 30 * DAY, jitter });
  return { scene, renew: renewalOf(scene), renewalOf };
}

describe('a token from the token request', () => {
  it('is renewed 30 days before it expires, and not earlier', async () => {
    const { scene, renew } = await openRenewing();
    const first = secretsIn(scene).active;
    scene.clock.pass(335 * DAY - 1);
    await renew();
    expect(scene.mints()).toBe(1);
    scene.clock.pass(1);
    await renew();
    expect(scene.mints()).toBe(2);
    const { active, previous } = scene.keeper.vault();
    expect(active).toMatchObject({ source: 'minted', verifiedAt: expect.any(String) });
    expect(active?.secret).not.toBe(first);
    expect(previous?.secret).toBe(first);
    expect((await scene.audit()).slice(-3)).toMatchObject([
      { action: 'token.mint', actor: 'gateway' },
      { action: 'token.verify', actor: 'gateway' },
      { action: 'token.activate', actor: 'gateway' },
    ]);
    // And the new one in its turn, in a year.
    await renew();
    scene.clock.pass(335 * DAY);
    await renew();
    expect(scene.mints()).toBe(3);
  });

  it('is renewed later by a process whose jitter is greater: within a tenth of the time that is left', async () => {
    const { scene, renew } = await openRenewing({}, 1);
    scene.clock.pass(338 * DAY - 1);
    await renew();
    expect(scene.mints()).toBe(1);
    scene.clock.pass(1);
    await renew();
    expect(scene.mints()).toBe(2);
  });

  it('that lives shortly is renewed in the last third of its life, again and again', async () => {
    const { scene, renew } = await openRenewing({ switches: { tokenTtlSeconds: 3600 } });
    for (let round = 1; round <= 3; round++) {
      scene.clock.pass(40 * 60_000 - 1);
      await renew();
      expect(scene.mints()).toBe(round);
      scene.clock.pass(1);
      await renew();
      expect(scene.mints()).toBe(round + 1);
    }
  });

  it('is renewed once, though the next leader looks at it again', async () => {
    const { scene, renew, renewalOf } = await openRenewing();
    const other = await scene.another();
    scene.clock.pass(336 * DAY);
    await renew();
    // The other has not heard of it, and finds out before it asks.
    await renewalOf(other)();
    expect(scene.mints()).toBe(2);
  });

  it('whose renewal fails stays, says so, and is tried again after an hour', async () => {
    const { scene, renew } = await openRenewing();
    const first = secretsIn(scene);
    scene.simulator.fault({ kind: 'status', status: 500, path: PATH, times: 2 });
    scene.clock.pass(336 * DAY);
    for (const tries of [2, 3]) {
      await renew();
      scene.clock.pass(HOUR - 1);
      await renew();
      expect(scene.mints()).toBe(tries);
      scene.clock.pass(1);
    }
    expect(secretsIn(scene)).toEqual(first);
    await renew();
    expect(scene.mints()).toBe(4);
    expect(secretsIn(scene)).toMatchObject({ previous: first.active });
  });

  it('is not asked for again and again when the platform hands out the same with the same expiry', async () => {
    let asked = 0;
    const mint = async () => {
      asked += 1;
      return { secret: 'always the same', expiresInS: asked === 1 ? 31_536_000 : 86_400 };
    };
    const { scene, renew } = await openRenewing({ mint, probe: null });
    scene.clock.pass(340 * DAY);
    for (let minute = 0; minute < 50; minute++) {
      await renew();
      scene.clock.pass(60_000);
    }
    expect(asked).toBe(2);
    expect(scene.log.messages('warn')).toEqual([
      'the platform issued the same token with the same expiry; retrying later',
    ]);
  });

  it('that has expired is left to whoever needs one', async () => {
    const { scene, renew } = await openRenewing();
    scene.clock.pass(365 * DAY);
    await renew();
    expect(scene.mints()).toBe(1);
  });
});

describe('a pending token', () => {
  it('of an operator who is at work is not written over; one that was forgotten is', async () => {
    const { scene, renew } = await openRenewing();
    scene.clock.pass(336 * DAY);
    await scene.rotation.stage(staged('not proven yet'), ALICE);
    await renew();
    expect(secretsIn(scene).pending).toBe('not proven yet');
    scene.clock.pass(DAY);
    await renew();
    expect(scene.mints()).toBe(2);
    expect(secretsIn(scene).pending).toBeNull();
  });
});
