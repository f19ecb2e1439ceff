/** A caller of `no-cache` refused what he himself had brought, again and again, when the clock stepped back meanwhile. */
import { expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1}]}';
const WEEK = 'byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

it('no-cache costs one call, whatever the clock does', async () => {
  const platform = await startHeldPlatform(sends(ROWS));
  const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1, timeoutMs: 2_000 } } });
  const key = await gateway.addTeam();
  const other = gateway.report(key, `advertiserId=2&${WEEK}`);
  await platform.arrived(1);
  // It waits for its turn while the clock is set.
  const headers = { 'cache-control': 'no-cache' };
  const asked = gateway.report(key, `advertiserId=1&${WEEK}`, { headers });
  await platform.arrived(1);
  gateway.clock.advance(-60_000);
  platform.release();
  expect((await Promise.all([other, asked])).map(outcomeOf)).toEqual(['200', '200']);
  expect(platform.requests).toHaveLength(2);
});
