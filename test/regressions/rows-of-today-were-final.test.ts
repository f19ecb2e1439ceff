/** A platform that answered with today's rows, whatever was asked for, had them called final and kept for 30 days. */
import { expect, it } from 'vitest';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-02';

/** Answers every call with the same days, and with how many calls there were. */
async function gatewayWith(dates: readonly string[]) {
  let calls = 0;
  const platform = await startRawPlatform((request, response) => {
    request.resume();
    calls += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: dates.map((date) => ({ date, clicks: calls })) }));
  });
  const gateway = await gatewayAt(platform, { now: '2026-11-21T12:00:00Z' });
  return { gateway, key: await gateway.addTeam(), callsSoFar: () => calls };
}

it('is as fresh, and as little final, as its last row', async () => {
  const { gateway, key, callsSoFar } = await gatewayWith(['2026-10-01', '2026-11-21']);
  const { meta } = reportIn(await gateway.report(key, `${QUERY}&_days=1`));
  expect(meta).toMatchObject({ final: false, days: [{ final: false }, { final: false }] });
  expect(meta.warnings).toMatchObject([{ code: 'rows_outside_range' }]);
  expect(outcomeOf(await gateway.report(key, `${QUERY}&_final=require`))).toBe('409 not_final');
  await gateway.services.settled();
  const before = callsSoFar();
  gateway.clock.advance(DAY);
  await gateway.report(key, QUERY);
  await gateway.services.settled();
  expect(callsSoFar()).toBeGreaterThan(before);
});

it('has a warning where the platform chose the first day, too', async () => {
  const { gateway } = await gatewayWith(['2026-10-01', '2026-11-21']);
  const key = await gateway.addTeam({ id: 'wide', limits: { maxRangeDays: 10_000 } });
  const query = 'advertiserId=1&byDate=1&dateTo=2026-10-02';
  const { meta } = reportIn(await gateway.report(key, query));
  expect(meta).toMatchObject({ final: false });
  expect(meta.warnings?.map(({ code }) => code)).toEqual(['platform_chose_period', 'rows_outside_range']);
});
