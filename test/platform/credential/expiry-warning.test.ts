import { describe, expect, it } from 'vitest';
import { createExpiryWarning } from '../../../src/platform/credential/credential.js';
import { outlookOf } from '../../../src/platform/credential/outlook.js';
import { DAY } from '../../support/test-clock.js';
import { ALICE, type Credential, openScene, staged } from './credential-harness.js';

function warningOf({ registry, keeper, clock, log }: Credential, renewBeforeMs: number | null = null) {
  const outlook = () => outlookOf(keeper.vault(), { nowMs: clock.now(), proof: 'accepted', renewBeforeMs });
  return createExpiryWarning({ registry, keeper, outlook, logger: log.logger });
}

describe('the warning of an expiry', () => {
  it('comes once at 30, 14, 7, 3, 1 and 0 days, and says what to do', async () => {
    const scene = await openScene({ mint: null });
    await scene.rotation.rotate(staged('a', '2027-01-21T12:00:00.000Z'), true, ALICE);
    const warn = warningOf(scene);
    for (let hour = 0; hour <= 62 * 24; hour += 6) {
      await warn();
      scene.clock.pass(DAY / 4);
    }
    const todo = 'create another in the dashboard and rotate to it';
    expect(scene.log.messages('error')).toEqual([
      ...[30, 14, 7, 3].map((days) => `the platform token expires in ${days} days; ${todo}`),
      `the platform token expires in 1 day; ${todo}`,
      `the platform token has expired; ${todo}`,
    ]);
    expect(scene.log.lines.find(({ msg }) => msg.includes('14 days'))).toMatchObject({
      tokenId: scene.keeper.vault().active?.id,
      expiresAt: '2027-01-21T12:00:00.000Z',
      expiryKnown: true,
      daysLeft: 14,
    });
  });

  it('keeps what a newer release wrote beside the last one', async () => {
    const scene = await openScene({ mint: null });
    await scene.rotation.rotate(staged('a'), true, ALICE);
    const theirs = {
      token: 'tok_before',
      expiresAt: '2026-01-01',
      days: 30,
      newer: { of: 'a newer release' },
    };
    await scene.registry.commit({ writes: new Map([['expiry-warning', JSON.stringify(theirs)]]) });
    scene.clock.pass(352 * DAY);
    await warningOf(scene)();
    expect(JSON.parse(scene.registry.get('expiry-warning')?.value ?? '')).toMatchObject({
      token: scene.keeper.vault().active?.id,
      days: 14,
      newer: { of: 'a newer release' },
    });
  });

  it('is given once by all replicas together, and not again after a restart', async () => {
    const scene = await openScene({ mint: null });
    await scene.rotation.rotate(staged('a'), true, ALICE);
    scene.clock.pass(352 * DAY);
    const replicas = [scene, await scene.another(), await scene.another()];
    await Promise.all(replicas.map((replica) => warningOf(replica)()));
    const restarted = await scene.another();
    await warningOf(restarted)();
    const said = [...replicas, restarted].flatMap(({ log }) => log.messages('error'));
    expect(said).toEqual([
      'the platform token expires in 13 days (assumed); create another in the dashboard and rotate to it',
    ]);
  });

  it('begins anew with another token, or another expiry', async () => {
    const scene = await openScene({ mint: null });
    const warn = warningOf(scene);
    for (const [secret, expiresAt] of [
      ['a', '2026-11-30T12:00:00.000Z'],
      ['b', '2026-11-30T12:00:00.000Z'],
      ['a', '2026-12-05T12:00:00.000Z'],
    ] as const) {
      await scene.rotation.rotate(staged(secret, expiresAt), true, ALICE);
      await warn();
      await warn();
    }
    expect(scene.log.messages('error').map((said) => said.split(';')[0])).toEqual([
      'the platform token expires in 9 days',
      'the platform token expires in 9 days',
      'the platform token expires in 14 days',
    ]);
  });

  it('where the gateway renews by itself sends to the renewal that fails', async () => {
    const scene = await openScene();
    await scene.rotation.rotate(null, false, ALICE);
    const warn = warningOf(scene, 30 * DAY);
    scene.clock.pass(340 * DAY);
    await warn();
    expect(scene.log.messages('error')).toEqual([]);
    scene.clock.pass(12 * DAY);
    await warn();
    expect(scene.log.messages('error')).toEqual([
      'the platform token expires in 13 days; the automatic renewal is overdue: find out why it fails',
    ]);
  });

  it('has nothing to say without a token', async () => {
    const scene = await openScene({ mint: null });
    await warningOf(scene)();
    expect(scene.log.lines).toEqual([]);
    expect(scene.registry.list('expiry')).toEqual([]);
  });
});
