import { describe, expect, it } from 'vitest';
import { completeTeam, type Team } from '../../src/auth/team.js';
import { createDailyShares } from '../../src/limits/daily-share.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import { createAllowanceRig } from './rig.js';

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

  it('is not charged with what was put back', async () => {
    const { team, one } = open(3);
    for (let call = 0; call < 10; call++) {
      await one.take('growth');
      one.putBack('growth');
    }
    expect(await one.standing(team)).toEqual({ left: 3, resetsAt: '2026-11-22T00:00:00.000Z' });
  });

  it('is told as it stands on all replicas', async () => {
    const { rig, team, one, other } = open(40);
    for (let call = 0; call < 5; call++) await one.take('growth');
    expect(await other.standing(team)).toMatchObject({ left: 35 });
    rig.clock.advance(13 * HOUR);
    expect(await other.standing(team)).toEqual({ left: 40, resetsAt: '2026-11-23T00:00:00.000Z' });
  });

  it('is charged once with what was used before, however often that is told', async () => {
    const { team, one, other } = open(10);
    await one.take('growth');
    for (const shares of [one, other]) await shares.recall('growth', 4);
    expect(await one.standing(team)).toMatchObject({ left: 6 });
    await other.recall('growth', 2);
    await other.recall('nobody', 2);
    expect(await other.standing(team)).toMatchObject({ left: 6 });
    await one.recall('growth', 99);
    await expect(one.take('growth')).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
  });

  it('does not count what no team asked for', async () => {
    const { rig, one } = open(1);
    for (let call = 0; call < 5; call++) await one.take('gateway');
    one.putBack('gateway');
    expect(rig.trips).toBe(0);
  });

  it('that is raised is in force within a second', async () => {
    const rig = createAllowanceRig(1);
    let limits = { upstreamCallsPerDay: 1 };
    const [allowances] = rig.replicas;
    if (allowances === undefined) throw new Error('a replica is wanted');
    const shares = createDailyShares(allowances, (id) => completeTeam({ id, limits }), rig.clock);
    await shares.take('growth');
    await expect(shares.take('growth')).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    limits = { upstreamCallsPerDay: 2 };
    rig.clock.advance(MINUTE / 60);
    await shares.take('growth');
  });
});
