import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeTeam, type NewTeam, type Team } from '../../../src/teams/auth/team.js';
import { createTeamLimits, type TeamLimits } from '../../../src/teams/limits/limits.js';
import { SECOND } from '../../support/test-clock.js';
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
  await limits.enter(team, (over) => {
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
      options: { retryAfterS: 2, detail: "The team's 30 requests a minute are used up." },
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

  it('that are refused for their rate take no place', async () => {
    const { limits } = open();
    const team = teamOf({ maxConcurrent: 2, requestsPerMinute: 1 });
    (await enter(limits, team))();
    for (let request = 0; request < 5; request++)
      await expect(enter(limits, team)).rejects.toMatchObject({
        options: { detail: expect.stringContaining('minute') },
      });
    expect(limits.concurrencyLeft(team)).toBe(2);
  });

  it('that are refused for their number use up nothing of the minute', async () => {
    const { limits } = open();
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

describe('how a team stands', () => {
  it('is told with the time until all is there again or, with nothing left, until there is one', async () => {
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
});
