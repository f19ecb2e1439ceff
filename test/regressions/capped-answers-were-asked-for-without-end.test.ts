/**
 * When the halves of halves proved a cap, what was cut from capped answers was purged; and the answer in hand, which
 * they had been asked for, counted as older than that. A report that is kept as a whole, or wanted as raw, was asked for
 * again and again: hundreds of calls, until the caller's time or his team's share of calls was over. And what was purged
 * were halves that had just been found to be complete, so callers at the same time voided each other's answers.
 */
import { expect, it } from 'vitest';
import { byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const CAP = 4;
/** Of six days, halved down to single ones. */
const CALLS = 11;
const FULL = '2026-11-05';
const twoOf = () => 2;
const fiveOn = (date: string) => (date === FULL ? 5 : 2);

it.each([
  { rows: twoOf, more: '', divisible: 'auto', length: 12 },
  { rows: twoOf, more: '', divisible: 'never', length: 12 },
  { rows: twoOf, more: '', divisible: 'always', length: 12 },
  { rows: twoOf, more: '&_format=raw', divisible: 'auto', length: CAP },
  { rows: twoOf, more: '&_format=raw', divisible: 'always', length: CAP },
  { rows: fiveOn, more: '', divisible: 'auto', length: CAP },
  { rows: fiveOn, more: '&_format=raw', divisible: 'always', length: CAP },
])('a capped report ($divisible, "$more") is given after one set of halves, and kept', async (asked) => {
  const platform = await startRawPlatform(rowsPerDay(asked.rows, CAP));
  const gateway = await gatewayAt(platform, {
    config: {
      platform: { timeoutMs: 5000 },
      report: { endpoints: { 'campaigns/get': { divisible: asked.divisible, rowCap: CAP } } },
    },
  });
  const key = await gateway.addTeam();
  const query = byDay('2026-11-01', '2026-11-06') + asked.more;
  for (let times = 0; times < 2; times++) {
    const reply = await gateway.report(key, query);
    expect(outcomeOf(reply)).toBe('200');
    expect(reply.json<{ data: unknown[] }>().data).toHaveLength(asked.length);
    await gateway.services.settled();
    expect(platform.requests.length).toBeLessThanOrEqual(CALLS);
  }
});

it('capped reports that are asked for at the same time do not void each other', async () => {
  const platform = await startRawPlatform(rowsPerDay(twoOf, CAP));
  const gateway = await gatewayAt(platform, {
    config: { report: { endpoints: { 'campaigns/get': { divisible: 'always', rowCap: CAP } } } },
  });
  const key = await gateway.addTeam();
  const query = byDay('2026-11-01', '2026-11-06');
  const queries = [query, byDay('2026-11-04', '2026-11-09'), `${query}&_totals=1`, `${query}&_format=raw`];
  const replies = await Promise.all(queries.map((one) => gateway.report(key, one)));
  expect(replies.map(outcomeOf)).toEqual(['200', '200', '200', '200']);
  // The halves of two ranges, one of them twice: raw is asked for as a whole. And the unsplit report of the totals.
  expect(platform.requests.length).toBeLessThan(4 * CALLS);
});
