/** The platform's refusal of a long period was handed to whoever waited for a day of it, within a period of their own. */
import { expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../support/start-gateway.js';

const query = (from: string, to: string) => `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}`;

it('a question is refused for its own period, not for one that somebody else asked for', async () => {
  const platform = await startHeldPlatform((request, response) => {
    const isLong = !request.url?.includes('dateFrom=2026-11-10');
    const answer = isLong
      ? sends('{"message":"The period is too long."}', {}, 422)
      : sends('{"data":[{"date":"2026-11-10","impressions":7}]}');
    answer(request, response);
  });
  const gateway = await gatewayAt(platform, {
    config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
  });
  const key = await gateway.addTeam();
  const long = gateway.report(key, query('2026-08-20', '2026-11-10'));
  await platform.arrived(1);
  const same = gateway.report(key, query('2026-08-20', '2026-11-10'));
  const short = gateway.report(key, query('2026-11-10', '2026-11-10'));
  await platform.arrived(1);
  platform.release();
  expect(reportIn(await short).data).toEqual([{ date: '2026-11-10', impressions: 7 }]);
  expect((await Promise.all([long, same])).map(outcomeOf)).toEqual([
    '422 upstream_rejected',
    '422 upstream_rejected',
  ]);
  // Whoever asked for the same has the same refusal.
  expect(platform.requests).toHaveLength(2);
});
