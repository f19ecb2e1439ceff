/** Limits of a team: requests a minute, requests at once, platform calls a day. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeTeam, type NewTeam, type Team } from '../../../src/teams/auth/team.js';
import { createDailyShares, createTeamLimits, type TeamLimits } from '../../../src/teams/limits/limits.js';
import { MINUTE, SECOND } from '../../support/test-clock.js';
import { createAllowanceRig, replicaOf } from './rig.js';

const teamOf = (limits: NewTeam['limits'], id = 'growth'): Team =>
  completeTeam({ id, ...(limits === undefined ? {} : { limits }) });

function open(count = 1, rank = 0) {
  const { clock, replicas } = createAllowanceRig(count);
  const allowances = replicas[rank];
  if (allowances === undefined) throw new Error('no such replica');
  return { clock, limits: createTeamLimits(allowances, replicaOf(count, rank)) };
}

/** A request of a team; `leave` ends it. */
async function enter(limits: TeamLimits, team: Team): Promise<() => void> {
  let leave = () => {};
  await limits.enter({ team }, (over) => {
    leave = over;
  });
  return leave;
}

describe("a team's requests", () => {
  it('are as many a minute as it may have; then one every so often', async () => {
    const { clock, limits } = open();
    const team = teamOf({ requestsPerMinute: 30 });
    for (let request = 0; request < 30; request++) (await enter(limits, team))();
    await expect(enter(limits, team)).rejects.toMatchObject({
      code: 'rate_limited',
      status: 429,
      options: { retryAfterS: 2, detail: 'The team has used up its 30 requests per minute.' },
    });
    clock.advance(2 * SECOND);
    (await enter(limits, team))();
    await expect(enter(limits, team)).rejects.toMatchObject({ code: 'rate_limited' });
    (await enter(limits, teamOf({ requestsPerMinute: 30 }, 'other')))();
  });

  it('run at most so many at once, however they end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.oneof(fc.constant('enter' as const), fc.nat(20)), { maxLength: 60 }),
        async (maxConcurrent, script) => {
          const { limits } = open();
          const team = teamOf({ maxConcurrent, requestsPerMinute: 1_000_000 });
          const running: (() => void)[] = [];
          for (const step of script) {
            if (step === 'enter') {
              const refused = running.length >= maxConcurrent;
              const entered = enter(limits, team);
              if (refused) {
                await expect(entered).rejects.toMatchObject({
                  code: 'rate_limited',
                  options: { retryAfterS: 1 },
                });
              } else running.push(await entered);
            } else {
              const [leave] = running.splice(step % Math.max(1, running.length), 1);
              // As `finish` and `close` of one request do.
              leave?.();
              leave?.();
            }
            expect(limits.concurrencyLeft(team)).toBe(maxConcurrent - running.length);
          }
        },
      ),
    );
  });

  it('that are refused for their rate take no place, and for their number nothing of the minute', async () => {
    const { limits } = open();
    const slow = teamOf({ maxConcurrent: 2, requestsPerMinute: 1 }, 'slow');
    (await enter(limits, slow))();
    const minute = { options: { detail: expect.stringContaining('minute') } };
    await expect(enter(limits, slow)).rejects.toMatchObject(minute);
    expect(limits.concurrencyLeft(slow)).toBe(2);
    const team = teamOf({ maxConcurrent: 1, requestsPerMinute: 100 });
    const leave = await enter(limits, team);
    for (let request = 0; request < 5; request++)
      await expect(enter(limits, team)).rejects.toMatchObject({
        options: { detail: expect.stringContaining('concurrent') },
      });
    expect(limits.rate(team).left).toBe(99);
    leave();
  });

  it('at once are split among the replicas, none of which is left without', async () => {
    const parts = [0, 1, 2].map((rank) => open(3, rank).limits.concurrencyLeft(teamOf({ maxConcurrent: 8 })));
    expect(parts).toEqual([3, 3, 2]);
    expect(open(3, 2).limits.concurrencyLeft(teamOf({ maxConcurrent: 1 }))).toBe(1);
  });
});

it('how a team stands is told with the time until all is there again or, with nothing left, until there is one', async () => {
  const { clock, limits } = open();
  const team = teamOf({ requestsPerMinute: 60 });
  expect(limits.rate(team)).toEqual({ limit: 60, left: 60, resetS: 1 });
  for (let request = 0; request < 45; request++) (await enter(limits, team))();
  expect(limits.rate(team)).toEqual({ limit: 60, left: 15, resetS: 45 });
  for (let request = 0; request < 15; request++) (await enter(limits, team))();
  await expect(enter(limits, team)).rejects.toMatchObject({ options: { retryAfterS: 1 } });
  expect(limits.rate(team)).toEqual({ limit: 60, left: 0, resetS: 1 });
  clock.advance(30 * SECOND);
  expect(limits.rate(team)).toEqual({ limit: 60, left: 30, resetS: 30 });
});

describe('daily share', () => {
  function open(upstreamCallsPerDay: number) {
    const rig = createAllowanceRig(2);
    const team: Team = completeTeam({ id: 'growth', limits: { upstreamCallsPerDay } });
    const [one, other] = rig.replicas.map((allowances) =>
      createDailyShares(allowances, (id) => (id === 'growth' ? team : undefined), rig.clock),
    );
    if (one === undefined || other === undefined) throw new Error('two replicas are wanted');
    return { rig, team, one, other };
  }

  describe("a team's daily share of platform calls", () => {
    it('is shared by the replicas, and begins anew at midnight UTC', async () => {
      const { rig, one, other } = open(6);
      for (let call = 0; call < 3; call++) {
        await one.take('growth');
        await other.take('growth');
      }
      rig.clock.set('2026-11-21T23:30:00.500Z');
      for (const shares of [one, other]) {
        await expect(shares.take('growth')).rejects.toMatchObject({
          code: 'upstream_budget_exhausted',
          status: 429,
          options: { retryAfterS: 30 * 60 },
        });
      }
      rig.clock.set('2026-11-22T00:00:00.000Z');
      await one.take('growth');
    });

    it('is all there for whoever calls: nothing of it lies with a replica that does not', async () => {
      const { team, one, other } = open(20);
      await Promise.all([1, 2, 3, 4, 5].map(() => one.take('growth')));
      (await one.take('growth')).putBack();
      // The first is killed here.
      expect(await other.status(team)).toMatchObject({ left: 15 });
      for (let call = 0; call < 15; call++) await other.take('growth');
      await expect(other.take('growth')).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    });

    it('of a day takes back what was charged to that day, and no other', async () => {
      const { rig, team, one } = open(6);
      const charges = await Promise.all([1, 2, 3, 4, 5].map(() => one.take('growth')));
      rig.clock.set('2026-11-22T00:00:00.000Z');
      for (const charge of charges) charge.putBack();
      expect(await one.status(team)).toMatchObject({ left: 6 });
      for (let call = 0; call < 6; call++) await one.take('growth');
      await expect(one.take('growth')).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
      rig.clock.set('2026-11-21T23:59:59.000Z');
      expect(await one.status(team)).toMatchObject({ left: 6 });
    });

    it('is taken back also while the store is away, and is given to it when it is there', async () => {
      const { rig, team, one, other } = open(4);
      const charge = await one.take('growth');
      rig.storeIsThere = false;
      charge.putBack();
      await new Promise((resolve) => setImmediate(resolve));
      rig.storeIsThere = true;
      expect(await one.status(team)).toMatchObject({ left: 4 });
      await one.take('growth');
      expect(await other.status(team)).toMatchObject({ left: 3 });
    });

    it('is said to be used up before a call waits, and again not so within a second of its being raised', async () => {
      const rig = createAllowanceRig(1);
      let limits = { upstreamCallsPerDay: 1 };
      const [allowances] = rig.replicas;
      if (allowances === undefined) throw new Error('a replica is wanted');
      const shares = createDailyShares(allowances, (id) => completeTeam({ id, limits }), rig.clock);
      expect(await shares.exhausted('growth')).toBeNull();
      await shares.take('growth');
      expect(await shares.exhausted('growth')).toMatchObject({
        code: 'upstream_budget_exhausted',
        message: expect.stringContaining('The team has used up its 1 platform calls of this UTC day'),
      });
      limits = { upstreamCallsPerDay: 2 };
      rig.clock.advance(MINUTE / 60);
      expect(await shares.exhausted('growth')).toBeNull();
    });

    it('is asked for before a call only when it was used up: the charge tells otherwise', async () => {
      const { rig, one } = open(3);
      for (let call = 0; call < 3; call++) {
        rig.clock.advance(MINUTE);
        expect(await one.exhausted('growth')).toBeNull();
        expect(rig.trips).toBe(call);
        await one.take('growth');
      }
      rig.clock.advance(MINUTE);
      expect(await one.exhausted('growth')).toMatchObject({ code: 'upstream_budget_exhausted' });
      expect(rig.trips).toBe(4);
    });

    it('is charged once with what was used before, however often that is told', async () => {
      const { team, one, other } = open(10);
      await one.take('growth');
      for (const shares of [one, other]) await shares.recall('growth', 4);
      expect(await one.status(team)).toMatchObject({ left: 6 });
      await other.recall('growth', 2);
      await other.recall('nobody', 2);
      expect(await other.status(team)).toMatchObject({ left: 6 });
      await one.recall('growth', 99);
      await expect(one.take('growth')).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    });

    it('does not count what no team asked for', async () => {
      const { rig, one } = open(1);
      for (let call = 0; call < 5; call++) (await one.take('gateway')).putBack();
      expect(await one.exhausted('gateway')).toBeNull();
      expect(rig.trips).toBe(0);
    });
  });
});
