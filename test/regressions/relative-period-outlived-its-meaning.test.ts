/** `_period=last_month` was answered with a lifetime of 30 days, of which the next month was the most. */
import { expect, it } from 'vitest';
import { withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

const LAST_MONTH = 'advertiserId=1&byCampaign=1&_period=last_month';

it('lets a caller keep it until the platform’s next midnight, from wherever it comes', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const ask = (more = '', headers = {}) => gateway.report(key, LAST_MONTH + more, { headers });
  const fetched = await ask();
  expect(fetched.headers['cache-control']).toBe('private, max-age=43200');
  gateway.clock.advance(2 * HOUR);
  const hit = await ask();
  expect(hit.headers['cache-status']).toMatch(/detail=l1$/);
  // Its age counts against it: 10 hours are left.
  expect([hit.headers.age, hit.headers['cache-control']]).toEqual(['7200', 'private, max-age=43200']);
  const again = await ask('', { 'if-none-match': fetched.headers.etag });
  expect([again.status, again.headers['cache-control']]).toEqual([304, 'private, max-age=43200']);
  for (const format of ['csv', 'raw'])
    expect((await ask(`&_format=${format}`)).headers['cache-control']).toMatch(/max-age=(43200|36000)$/);
  // The same days by their names are the same for ever, in the same entry.
  const named = await gateway.report(
    key,
    'advertiserId=1&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-31',
  );
  expect(named.headers['cache-status']).toMatch(/detail=l1$/);
  expect(named.headers['cache-control']).toBe('private, max-age=2592000');
});

it.each([
  ['America/New_York', '2026-11-21T12:00:00Z', 17],
  ['Pacific/Kiritimati', '2026-11-21T09:00:00Z', 1],
  // 25 October has 25 hours in Berlin, 29 March 23.
  ['Europe/Berlin', '2026-10-24T22:00:00Z', 25],
  ['Europe/Berlin', '2026-03-28T23:00:00Z', 23],
])('in the zone %s at %s it is good for %i hours', async (timezone, now, hours) => {
  const gateway = await withGateway({
    now,
    config: { platform: { timezones: { 1: timezone } } },
    switches: { timezone },
  });
  const reply = await gateway.report(await gateway.addTeam(), LAST_MONTH);
  expect([reply.status, reply.headers['cache-control']]).toEqual([200, `private, max-age=${hours * 3600}`]);
});

it('shortens no lifetime that ends earlier, nor one that is old already', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const today = () => gateway.report(key, 'advertiserId=1&byCampaign=1&_period=today');
  expect((await today()).headers['cache-control']).toBe('private, max-age=300');
  gateway.clock.set('2026-11-21T23:58:00Z');
  expect((await today()).headers['cache-control']).toBe('private, max-age=120');
  // Past its freshness, answered while a refresh runs behind.
  gateway.clock.set('2026-11-21T23:57:00Z');
  const stale = await gateway.report(key, 'advertiserId=1&byCampaign=1&_period=yesterday');
  expect(stale.headers['cache-control']).toBe('private, max-age=180');
});
