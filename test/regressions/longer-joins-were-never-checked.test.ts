/** The daily check of a series went to whoever asked first: its longer ranges were joined for weeks, and never compared. */
import { expect, it } from 'vitest';
import { daysBetween, isoDay } from '../../src/reports/query/days.js';
import { byDay } from '../reports/fetch/by-day.js';
import { type Answering, answering, type Period, plain } from '../reports/learn/range-dependent.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

/** Ranges of more than a month are sampled. */
const sampledWhenLong: Answering = (period) =>
  plain(period).map((row) => ({ ...row, impressions: daysBetween(...period).length > 31 ? 100 : 110 }));

async function dashboardsAt(rowsIn: Answering) {
  const platform = await startRawPlatform(answering(rowsIn));
  const gateway = await gatewayAt(platform, { config: { report: { crossCheckEvery: 1_000_000 } } });
  const key = await gateway.addTeam();
  return {
    gateway,
    platform,
    /** Asks for days that end yesterday. @returns whether the answer is the platform's own for that period */
    async isRight(days: number): Promise<boolean> {
      const today = Math.floor(gateway.clock.now() / DAY);
      const period: Period = [isoDay(today - days), isoDay(today - 1)];
      const { data } = reportIn(await gateway.report(key, byDay(...period)));
      await gateway.services.settled();
      const shown = (rows: readonly Readonly<Record<string, unknown>>[]) =>
        rows.map(({ date, impressions }) => `${date} ${impressions}`);
      return shown(data).join() === shown(rowsIn(period)).join();
    },
  };
}

it('the first join of a length is checked though shorter ones of the series were checked before it that day', async () => {
  const { gateway, isRight } = await dashboardsAt(sampledWhenLong);
  for (let day = 0; day < 12; day += 1) {
    for (const days of [7, 14, 30, 21, 10]) expect(await isRight(days)).toBe(true);
    gateway.clock.advance(DAY);
  }
  const long: boolean[] = [];
  for (let day = 0; day < 3; day += 1) {
    for (const days of [7, 14, 30]) expect(await isRight(days)).toBe(true);
    long.push(await isRight(90));
    gateway.clock.advance(4 * HOUR);
  }
  // What nobody has asked for yet cannot have been compared before it is given.
  expect(long.slice(1)).toEqual([true, true]);
});
