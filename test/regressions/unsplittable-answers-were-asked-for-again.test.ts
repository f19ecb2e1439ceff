/** Of a kind that is split by day, an answer that could not be split was kept as a whole, and asked for again all the same. */
import { expect, it } from 'vitest';
import { reportIn, withGateway } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-10';

it('what is kept as a whole serves every format, and helps when the platform fails', async () => {
  const gateway = await withGateway({
    switches: { shape: 'totals' },
    config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
  });
  const key = await gateway.addTeam();
  const first = reportIn(await gateway.report(key, QUERY));
  const calls = gateway.simulator.callCount;
  for (const more of ['_format=csv', '_format=ndjson', '_days=1']) {
    const reply = await gateway.report(key, `${QUERY}&${more}`);
    expect([more, reply.status, reply.headers['cache-status']]).toEqual([
      more,
      200,
      expect.stringMatching(/; hit; /),
    ]);
  }
  const only = await gateway.report(key, `${QUERY}&_days=1&_format=json`, {
    headers: { 'cache-control': 'only-if-cached' },
  });
  expect(only.status).toBe(200);
  expect(gateway.simulator.callCount).toBe(calls);
  // Past its freshness, while the platform fails.
  gateway.clock.advance(33 * 86_400_000);
  gateway.simulator.fault({ kind: 'status', status: 500, times: 20 });
  expect(reportIn(await gateway.report(key, QUERY))).toMatchObject({
    data: first.data,
    meta: { stale: true },
  });
});
