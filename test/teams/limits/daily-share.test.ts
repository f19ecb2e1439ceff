import { describe, expect, it } from 'vitest';
import { completeTeam, type Team } from '../../../src/teams/auth/team.js';
import { createDailyShares } from '../../../src/teams/limits/limits.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';
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
    for (let call = 0; call < 10; call++) (await one.take('growth')).putBack();
    expect(await one.status(team)).toEqual({ left: 3, resetsAt: '2026-11-22T00:00:00.000Z' });
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
      message: expect.stringContaining("The team's daily share of platform calls (1, by UTC) is used up"),
    });
    limits = { upstreamCallsPerDay: 2 };
    rig.clock.advance(MINUTE / 60);
    expect(await shares.exhausted('growth')).toBeNull();
  });

  it('is told as it stands on all replicas', async () => {
    const { rig, team, one, other } = open(40);
    for (let call = 0; call < 5; call++) await one.take('growth');
    expect(await other.status(team)).toMatchObject({ left: 35 });
    rig.clock.advance(13 * HOUR);
    expect(await other.status(team)).toEqual({ left: 40, resetsAt: '2026-11-23T00:00:00.000Z' });
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
