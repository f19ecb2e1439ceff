/** How a kind of report passes its probation, seen from the platform. */
import { describe, expect, it } from 'vitest';
import { daysBetween, isoDay } from '../../../src/reports/query/days.js';
import { stateOf } from '../../support/prove.js';
import { startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, reportIn } from '../../support/start-gateway.js';
import { DAY } from '../../support/test-clock.js';
import { byDay, periodOf } from '../fetch/by-day.js';
import { type Answering, answering, lowerOnTheLastDay, plain } from './range-dependent.js';

const TODAY = Date.parse('2026-11-21') / DAY;
const day = (ago: number) => isoDay(TODAY - ago);

async function gatewayBefore(rowsIn: Answering) {
  const platform = await startRawPlatform(answering(rowsIn));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  return {
    platform,
    gateway,
    /** @returns the platform calls it took: those before the answer, and all */
    async ask(from: string, to: string) {
      const first = platform.requests.length;
      const reply = await gateway.report(key, byDay(from, to));
      const answered = platform.requests.slice(first, first + 1).map(periodOf);
      await gateway.services.settled();
      const all = platform.requests.slice(first).map(periodOf);
      expect(reportIn(reply).data.map(({ date }) => date)).toEqual(daysBetween(from, to));
      return { answered, all, cache: reply.headers['cache-status'] };
    },
    policy: () => stateOf(gateway),
  };
}

describe('probation', () => {
  it('answers five ranges as a whole, each compared with the join of its days, before any join is given', async () => {
    const { ask, policy } = await gatewayBefore(plain);
    const ranges = [
      [20, 12],
      [19, 11],
      [22, 10],
      [25, 9],
      [30, 8],
      [26, 7],
      [33, 6],
    ] as const;
    let asked = 0;
    for (const [from, to] of ranges) {
      const { answered, all, cache } = await ask(day(from), day(to));
      expect([answered, cache]).toEqual([[[day(from), day(to)]], 'dsp-gateway; fwd=miss; stored']);
      asked += all.length;
    }
    expect(await policy()).toMatchObject({
      because: 'proven to be divisible',
      divisibility: { state: 'proven', trials: { length: 5 } },
    });
    // One or two calls more for each of the five.
    expect(asked).toBeLessThanOrEqual(ranges.length + 10);
    expect((await ask(day(24), day(10))).cache).toMatch(/; hit; /);
  });

  it('is passed too by a dashboard that asks for one length day by day', async () => {
    const { ask, policy, gateway } = await gatewayBefore(plain);
    for (let days = 0; days < 12; days++) {
      const today = Math.floor(gateway.clock.now() / DAY);
      await ask(isoDay(today - 13), isoDay(today));
      gateway.clock.advance(DAY);
    }
    expect((await policy()).because).toBe('proven to be divisible');
  });

  it('is passed by a few answers in quick succession, though trials run one at a time', async () => {
    const { gateway, policy } = await gatewayBefore(plain);
    const key = await gateway.addTeam();
    // Each answer is given before the trial of the one before has ended.
    const ranges = [20, 19, 22, 25, 30, 26, 33, 34].map((from, at) => byDay(day(from), day(12 - at)));
    await Promise.all(ranges.slice(0, 2).map((range) => gateway.report(key, range)));
    await gateway.services.settled();
    await Promise.all(ranges.slice(2).map((range) => gateway.report(key, range)));
    await gateway.services.settled();
    expect((await policy()).because).toBe('proven to be divisible');
  });

  it('costs nothing further of ranges without final days, and is not passed by days without rows', async () => {
    const { ask, policy } = await gatewayBefore((period) =>
      plain(period).filter(({ date }) => String(date) >= day(12)),
    );
    for (const [from, to] of [
      [13, 9],
      [12, 8],
      [11, 7],
    ] as const) {
      await ask(day(from), day(to)).catch(() => {});
    }
    const trials = async () => (await policy()).divisibility?.trials?.length;
    const passed = await trials();
    for (let more = 0; more < 6; more++) await ask(day(60 + 2 * more), day(40 + more)).catch(() => {});
    expect(await trials()).toBe(passed);
    const { all } = await ask(day(4), day(0));
    expect(all).toEqual([[day(4), day(0)]]);
  });

  it('ends in a refutation when a join is not the whole answer', async () => {
    // Overlaps agree, for the periods that are asked for all end on days to come.
    const { ask, policy } = await gatewayBefore(lowerOnTheLastDay);
    for (const [from, to] of [
      [30, -1],
      [29, -2],
      [28, -3],
    ] as const) {
      await ask(day(from), day(to));
    }
    expect((await policy()).divisibility).toMatchObject({ state: 'refuted' });
  });
});
