/** Rows were shown as final beside totals that the platform restated since; totals that are none vanished silently. */
import { expect, it } from 'vitest';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

const ROWS = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-10&dateTo=2026-11-15';

interface Warned {
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

/** Answers a split report with two rows of `spent`, the unsplit one with these rows. */
async function gatewayWith(spent: { each: number; totals: readonly object[] | string }, now?: string) {
  const platform = await startRawPlatform((request, response) => {
    request.resume();
    const split = request.url?.includes('byCampaign') ?? false;
    const rows = split ? [1, 2].map((id) => ({ campaignId: id, spent: spent.each })) : spent.totals;
    response.writeHead(200, { 'content-type': typeof rows === 'string' ? 'text/plain' : 'application/json' });
    response.end(typeof rows === 'string' ? rows : JSON.stringify(rows));
  });
  const gateway = await gatewayAt(platform, now === undefined ? {} : { now });
  return { gateway, key: await gateway.addTeam() };
}

it('is not final while the totals are not, though the rows are', async () => {
  const spent = { each: 2.5, totals: [{ spent: 5 }] as readonly object[] };
  const { gateway, key } = await gatewayWith(spent, '2026-11-20T23:30:00Z');
  // The totals are fetched while the 15th may still be restated, and are fresh for an hour.
  expect(reportIn(await gateway.report(key, `${ROWS}&_totals=1`)).meta.final).toBe(false);
  gateway.clock.set('2026-11-21T00:01:00Z');
  const fresh = { 'cache-control': 'no-cache' };
  expect(reportIn(await gateway.report(key, ROWS, { headers: fresh })).meta.final).toBe(true);
  // In another shape, for the first answer is still in memory.
  const { data, meta } = reportIn(await gateway.report(key, `${ROWS}&_totals=1&_days=1`));
  expect(data.map((row) => row.spent)).toEqual([2.5, 2.5]);
  expect(meta).toMatchObject({ totals: { spent: 5 }, final: false, stale: false });
});

it.each<[string, readonly object[], string]>([
  ['no row', [], 'has no row'],
  ['two rows', [{ spent: 4 }, { spent: 6 }], 'has 2 rows'],
])('says that there are no totals when the unsplit report has %s', async (_what, totals, message) => {
  const { gateway, key } = await gatewayWith({ each: 5, totals });
  const meta: Warned & object = reportIn(await gateway.report(key, `${ROWS}&_totals=1`)).meta;
  expect(meta).not.toHaveProperty('totals');
  expect(meta.warnings).toEqual([{ code: 'totals_unavailable', message: expect.stringContaining(message) }]);
  expect(reportIn(await gateway.report(key, ROWS)).meta).not.toHaveProperty('warnings');
});
