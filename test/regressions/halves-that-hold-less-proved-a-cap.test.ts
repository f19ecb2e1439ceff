/** The halves of a range held less than the range, and were given as the answer in its place; earlier days were purged. */
import { expect, it } from 'vitest';
import { daysBetween } from '../../src/reports/query/days.js';
import { byDay, periodOf } from '../reports/fetch/by-day.js';
import { type Answering, answering } from '../reports/learn/range-dependent.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

/** Each day has a hundred campaigns of its own, and each campaign is listed on every day of the period. */
const listing: Answering = (period) => {
  const dates = daysBetween(...period);
  return dates.flatMap((date) =>
    dates.flatMap((own, index) =>
      Array.from({ length: 100 }, (_, at) => ({
        date,
        campaign_id: index * 100 + at,
        advertiser_id: 1,
        impressions: own === date ? 5 : 0,
      })),
    ),
  );
};

it('the whole answer is given and kept, and the count is no cap', async () => {
  const platform = await startRawPlatform(answering(listing));
  const gateway = await gatewayAt(platform, { config: { report: { crossCheckEvery: 0 } } });
  const key = await gateway.addTeam();
  const { seq } = gateway.services.purges;
  const ask = async (from: string, to: string) => {
    const before = platform.requests.length;
    const reply = await gateway.report(key, byDay(from, to));
    await gateway.services.settled();
    return [reportIn(reply).meta.rowCount, platform.requests.slice(before).map(periodOf).length];
  };
  expect(await ask('2026-11-01', '2026-11-03')).toEqual([900, 1]);
  // The same count for another range: looked into once.
  const [rows] = await ask('2026-10-01', '2026-10-03');
  expect(rows).toBe(900);
  expect(gateway.services.purges.seq).toBe(seq);
  expect(await ask('2026-11-01', '2026-11-03')).toEqual([900, 0]);
  expect(await ask('2026-10-11', '2026-10-13')).toEqual([900, 1]);
});
