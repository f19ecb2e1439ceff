import { describe, expect, it } from 'vitest';
import { createFirstProof } from '../../../src/platform/credential/first-proof.js';
import type { TokenProof } from '../../../src/platform/credential/verify-token.js';
import { withGateway } from '../../support/start-gateway.js';
import { DAY, SECOND } from '../../support/test-clock.js';
import { ALICE, type Credential, openScene, staged } from './credential-harness.js';

type Outcome = TokenProof['outcome'];

/** Replicas with a token that nobody has proven, and the calls that they make. */
async function openUnproven(says: Outcome = 'accepted') {
  const scene = await openScene({ probe: null });
  await scene.rotation.rotate(staged(scene.simulator.token), true, ALICE);
  const world = { canAsk: true, mayCall: true, calls: 0 };
  function start({ keeper, evidence }: Credential) {
    const prove = async (): Promise<TokenProof> => {
      world.calls += 1;
      if (says !== 'unknown') evidence.note(keeper.vault().active?.id ?? '', says);
      return {
        outcome: says,
        reason: '',
        isSilent: false,
        isOfReport: false,
        target: '/any',
        platformNowMs: null,
      };
    };
    const proof = createFirstProof({
      keeper,
      prove,
      leases: scene.store.registryLeases,
      clock: scene.clock,
      isUnproven: () => evidence.proof() === 'unproven',
      canAsk: () => world.canAsk,
    });
    proof.begin(false);
    return { ...proof, run: () => proof.run(() => world.mayCall) };
  }
  return { ...scene, world, start, proof: start(scene) };
}

describe('a token that is not proven at the start', () => {
  it('is verified by one call, two seconds after it', async () => {
    const { clock, world, proof, evidence } = await openUnproven();
    expect(proof.awaited()).toBe('call');
    clock.pass(2 * SECOND - 1);
    await proof.run();
    expect(world.calls).toBe(0);
    clock.pass(1);
    for (let round = 0; round < 3; round++) await proof.run();
    expect([world.calls, evidence.proof()]).toEqual([1, 'accepted']);
  });

  it('costs no call if a report succeeds before', async () => {
    const { clock, world, proof, evidence, keeper } = await openUnproven();
    evidence.note(keeper.vault().active?.id ?? '', 'accepted');
    clock.pass(2 * SECOND);
    await proof.run();
    expect(world.calls).toBe(0);
  });

  it('is a fault if the call proves nothing, and causes no other call before the next start', async () => {
    const scene = await openUnproven('unknown');
    const { clock, world, proof, start } = scene;
    clock.pass(2 * SECOND);
    for (let round = 0; round < 3; round++) await proof.run();
    expect([world.calls, proof.awaited()]).toEqual([1, 'nothing']);
    clock.pass(DAY);
    const restarted = start(scene);
    expect(restarted.awaited()).toBe('call');
    clock.pass(2 * SECOND);
    await restarted.run();
    expect(world.calls).toBe(2);
  });

  it('is a fault without another call if the configured call proved nothing', async () => {
    const { clock, world, proof } = await openUnproven();
    proof.begin(true);
    clock.pass(2 * SECOND);
    await proof.run();
    expect([world.calls, proof.awaited()]).toEqual([0, 'nothing']);
  });

  it('waits while calls are not allowed, and half a minute at most', async () => {
    const { clock, world, proof } = await openUnproven();
    world.mayCall = false;
    clock.pass(20 * SECOND);
    await proof.run();
    expect([world.calls, proof.awaited()]).toEqual([0, 'call']);
    clock.pass(11 * SECOND);
    world.mayCall = true;
    await proof.run();
    expect([world.calls, proof.awaited()]).toEqual([0, 'nothing']);
  });

  it('waits for a report to verify it with, however long', async () => {
    const { clock, world, proof } = await openUnproven();
    world.canAsk = false;
    clock.pass(DAY);
    for (const job of [proof.look, proof.run]) await job();
    expect([world.calls, proof.awaited()]).toEqual([0, 'report']);
    world.canAsk = true;
    expect(proof.awaited()).toBe('call');
    clock.pass(2 * SECOND);
    await proof.run();
    expect(world.calls).toBe(1);
  });

  it('causes one call, also if another leader takes over', async () => {
    const scene = await openUnproven('unknown');
    const { clock, world, proof, start, another } = scene;
    const successor = start(await another());
    clock.pass(2 * SECOND);
    await Promise.all([proof.run(), successor.run()]);
    await successor.run();
    expect(world.calls).toBe(1);
  });

  it('is not verified after an operator has forced another token', async () => {
    const { clock, world, proof, rotation, simulator } = await openUnproven();
    await rotation.rotate(staged(simulator.issueToken()), true, ALICE);
    clock.pass(2 * SECOND);
    await proof.run();
    expect([world.calls, proof.awaited()]).toEqual([0, 'nothing']);
  });
});

describe('a gateway that has just started', () => {
  it('is starting until it has verified its token by the cheapest report of a declared advertiser', async () => {
    const gateway = await withGateway();
    const verdict = async () => (await gateway.manage('GET', '/status')).verdict;
    const starting = (says: string) => ({
      level: 'starting',
      findings: [{ level: 'starting', part: 'credential', says: expect.stringContaining(says) }],
    });
    expect(await verdict()).toMatchObject(starting('no team lists an advertiser by its id'));
    await gateway.addTeam({ id: 'growth', advertisers: [7, 1] });
    expect(await verdict()).toMatchObject(starting('within seconds'));
    gateway.clock.advance(3 * SECOND);
    await expect.poll(verdict, { timeout: 10_000 }).toEqual({ level: 'well', findings: [] });
    expect(gateway.simulator.calls.map(({ url }) => url)).toEqual([
      '/api/v1/report/campaigns/get?advertiserId=7&dateFrom=2026-11-20&dateTo=2026-11-20',
    ]);
  });
});
