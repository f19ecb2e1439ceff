/**
 * Of a range whose middle somebody else was asking for, both ends became one call that brought the middle again.
 * Shrunk by test/engine/concurrency.test.ts: [[18, 1, 0], [15, 5, 0]].
 */
import { expect, it } from 'vitest';
import { startDayPlatform } from '../engine/day-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

it('a call stops before the days that another call has under way', async () => {
  const platform = await startDayPlatform();
  const gateway = await gatewayAt(platform, {
    config: { report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible: 'always' } } } },
  });
  const key = await gateway.addTeam();
  const report = (from: string, to: string) =>
    gateway.report(key, `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}`);
  platform.hold(() => true);
  const middle = report('2026-11-09', '2026-11-09');
  await platform.arrived(1);
  const around = report('2026-11-06', '2026-11-10');
  await platform.arrived(2);
  platform.release();
  expect(reportIn(await middle).meta.rowCount).toBe(1);
  expect(reportIn(await around).meta.rowCount).toBe(5);
  expect(platform.calls.map(({ from, to }) => `${from}/${to}`)).toEqual([
    '2026-11-09/2026-11-09',
    '2026-11-10/2026-11-10',
    '2026-11-06/2026-11-08',
  ]);
});
