/** An answer that was joined from halves was kept as a whole, and given on after its kind was refuted to be divisible. */
import { expect, it } from 'vitest';
import { byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { answering, plain } from '../reports/learn/range-dependent.js';
import { stateOf } from '../support/prove.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

it('nothing that was joined is given any more, not even when the platform fails', async () => {
  const platform = await startRawPlatform(rowsPerDay(() => 7, 20));
  const gateway = await gatewayAt(platform, {
    config: {
      platform: { retry: { attempts: 0 } },
      report: { endpoints: { 'campaigns/get': { rowCap: 20 } } },
    },
  });
  const key = await gateway.addTeam();
  const ask = async (from: string, to: string, more = '') => {
    const before = platform.requests.length;
    const reply = await gateway.report(key, byDay(from, to) + more);
    await gateway.services.settled();
    return { reply, calls: platform.requests.length - before };
  };
  // SplitFrom off at 20 rows, and joined from its halves.
  expect((await ask('2026-11-01', '2026-11-04')).calls).toBe(3);
  expect((await ask('2026-11-01', '2026-11-04', '&_format=csv')).calls).toBe(0);
  // Other numbers for each period.
  platform.answer(
    answering((period) => plain(period).map((row) => ({ ...row, impressions: Date.parse(period[1]) / 1e6 }))),
  );
  await ask('2026-11-02', '2026-11-03');
  expect((await stateOf(gateway)).divisibility?.state).toBe('refuted');
  platform.answer(sends('{"message":"away"}', {}, 500));
  expect(outcomeOf((await ask('2026-11-01', '2026-11-04')).reply)).toBe('502 upstream_error');
  expect(outcomeOf((await ask('2026-11-01', '2026-11-04', '&_format=csv')).reply)).toBe('502 upstream_error');
});
