import { describe, expect, it } from 'vitest';
import { gatewayAt, REPORT, reportIn, withGateway, withTeam } from '../support/start-gateway.js';
import { DAY, HOUR, SECOND } from '../support/test-clock.js';
import { CURRENT, cacheOf, FINAL } from './reports.js';

describe('a second call', () => {
  it('is answered from memory, whoever makes it and however it is spelt', async () => {
    const gateway = await withGateway();
    const [one, other] = [await gateway.addTeam(), await gateway.addTeam({ advertisers: [1] })];
    const first = await gateway.report(one, FINAL);
    expect([cacheOf(first), first.headers.age]).toEqual(['fwd=miss; stored', '0']);
    gateway.clock.advance(10 * SECOND);
    const spelt = FINAL.split('&').reverse().join('&').replace('byCampaign=1', 'byDate=0&by%43ampaign=true');
    const second = await gateway.report(other, spelt);
    expect(cacheOf(second)).toBe('hit; ttl=2591990; detail=l1');
    expect(second.body.equals(first.body)).toBe(true);
    expect(second.headers).toMatchObject({
      age: '10',
      'cache-control': 'private, max-age=2592000',
      etag: first.headers.etag,
    });
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('of another form is made from the store', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    await gateway.report(key, FINAL);
    for (const form of ['_format=csv', '_format=ndjson', '_days=1', '_format=raw', '_format=csv&_bom=1']) {
      const query = `${FINAL}&${form}`;
      expect(cacheOf(await gateway.report(key, query)), form).toBe('hit; ttl=2592000; detail=store');
      expect(cacheOf(await gateway.report(key, query)), form).toBe('hit; ttl=2592000; detail=l1');
    }
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('on another replica is answered from the store they share', async () => {
    const { gateway, key } = await withTeam();
    const replica = await gatewayAt(gateway.simulator, { sharedStore: gateway.store, clock: gateway.clock });
    const first = await gateway.report(key, FINAL);
    await gateway.services.settled();
    const second = await replica.report(key, FINAL);
    expect(cacheOf(second)).toBe('hit; ttl=2592000; detail=store');
    expect(second.body.equals(first.body)).toBe(true);
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('of a replica that asks the platform in another account’s name gets nothing of this one’s', async () => {
    const { gateway, key } = await withTeam();
    const config = { platform: { account: 'other' } };
    const replica = await gatewayAt(gateway.simulator, {
      sharedStore: gateway.store,
      clock: gateway.clock,
      config,
    });
    await gateway.report(key, FINAL);
    expect(cacheOf(await replica.report(key, FINAL))).toBe('fwd=miss; stored');
  });
});

describe('what is another question', () => {
  it.each([
    'advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-15',
    'advertiserId=1&byCampaign=1&dateFrom=2026-11-02&dateTo=2026-11-15',
    `${FINAL}&utm_source=x`,
  ])('%s', async (query) => {
    const { gateway, key } = await withTeam();
    await gateway.report(key, FINAL);
    expect(cacheOf(await gateway.report(key, query))).toBe('fwd=miss; stored');
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('a POST is another one than a GET, and the same as a POST in other words', async () => {
    const { gateway, key } = await withTeam();
    const post = (json: unknown, query = '') =>
      gateway.call(`${REPORT}${query}`, { method: 'POST', key, json });
    await gateway.report(key, FINAL);
    const first = await post({
      advertiserId: 1,
      byCampaign: true,
      dateFrom: '2026-11-01',
      dateTo: '2026-11-15',
    });
    expect(cacheOf(first)).toBe('fwd=miss; stored');
    const second = await post({
      dateTo: '2026-11-15',
      dateFrom: '2026-11-01',
      byDate: false,
      byCampaign: 1,
      advertiserId: '1',
    });
    expect(cacheOf(second)).toBe('hit; ttl=2592000; detail=l1');
    expect(reportIn(second).data).toEqual(reportIn(await gateway.report(key, FINAL)).data);
    expect(gateway.simulator.calls.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'GET ',
      'POST {"advertiserId":1,"byCampaign":true,"dateFrom":"2026-11-01","dateTo":"2026-11-15"}',
    ]);
    expect(cacheOf(await post({}, `?${FINAL}&_format=csv`))).toBe('fwd=miss; stored');
  });

  it('a relative period follows the time zone of the account', async () => {
    const { gateway, key } = await withTeam({
      now: '2026-12-31T23:30:00Z',
      config: { platform: { timezone: 'America/New_York', timezones: { 2: 'Europe/Berlin' } } },
    });
    const month = async (advertiser: number) =>
      reportIn(await gateway.report(key, `advertiserId=${advertiser}&_period=month_to_date`)).meta.period;
    expect(await month(1)).toEqual({ from: '2026-12-01', to: '2026-12-31' });
    expect(await month(2)).toEqual({ from: '2027-01-01', to: '2027-01-01' });
  });
});

describe('a conditional call', () => {
  it('is told that nothing changed, without a body, from memory, store and platform alike', async () => {
    const { gateway, key } = await withTeam();
    const first = await gateway.report(key, CURRENT);
    const etag = String(first.headers.etag);
    const asked = (ifNoneMatch: string, query = CURRENT) =>
      gateway.report(key, query, { headers: { 'if-none-match': ifNoneMatch } });
    for (const held of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const reply = await asked(held);
      expect([reply.status, reply.text, reply.headers.etag], held).toEqual([304, '', etag]);
      expect(reply.headers['content-type']).toBeUndefined();
      expect(reply.headers['cache-control']).toBe('private, max-age=300');
      expect(cacheOf(reply)).toBe('hit; ttl=300; detail=l1');
      expect(reply.headers.vary).toBe(first.headers.vary);
    }
    for (const other of ['"x"', etag.replace(/"$/, '-gzip"')])
      expect((await asked(other)).status, other).toBe(200);
    const csv = String((await gateway.report(key, `${CURRENT}&_format=csv`)).headers.etag);
    expect((await asked(etag, `${CURRENT}&_format=csv`)).status).toBe(200);
    expect((await asked(csv, `${CURRENT}&_format=csv`)).status).toBe(304);
    const replica = await gatewayAt(gateway.simulator, { sharedStore: gateway.store, clock: gateway.clock });
    const fromStore = await replica.report(key, CURRENT, { headers: { 'if-none-match': etag } });
    expect([fromStore.status, cacheOf(fromStore)]).toEqual([304, 'hit; ttl=300; detail=store']);
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('gets JSON whose age alone changed, and 304 for CSV and NDJSON of the same rows', async () => {
    const { gateway, key } = await withTeam();
    const ask = (format: string, held = '"none"') =>
      gateway.report(key, `${FINAL}&_format=${format}`, { headers: { 'if-none-match': held } });
    const formats = ['json', 'csv', 'ndjson'];
    const first = await Promise.all(formats.map((format) => ask(format)));
    gateway.clock.advance(31 * DAY);
    const [json, ...others] = await Promise.all(
      formats.map((format, at) => ask(format, String(first[at]?.headers.etag))),
    );
    expect(json?.status).toBe(200);
    expect(json?.headers.etag).not.toBe(first[0]?.headers.etag);
    expect(json?.json<{ data: unknown }>().data).toEqual(first[0]?.json<{ data: unknown }>().data);
    expect(others.map(({ status }) => status)).toEqual([304, 304]);
    expect(gateway.simulator.callCount).toBe(2);
  });
});

it('a second 304 comes from memory', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await gateway.report(key, FINAL);
  // In a form that nobody was sent yet.
  for (const detail of ['store', 'l1']) {
    await gateway.services.settled();
    const reply = await gateway.report(key, `${FINAL}&_format=csv`, { headers: { 'if-none-match': '*' } });
    expect([reply.status, cacheOf(reply)]).toEqual([304, `hit; ttl=2592000; detail=${detail}`]);
  }
});

describe('a period that is named by a word', () => {
  const LAST_MONTH = 'advertiserId=1&byCampaign=1&_period=last_month';

  it('lets a caller keep it until the platform’s next midnight, from wherever it comes', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const ask = (query: string, headers = {}) => gateway.report(key, query, { headers });
    const fetched = await ask(LAST_MONTH);
    expect(fetched.headers['cache-control']).toBe('private, max-age=43200');
    gateway.clock.advance(2 * HOUR);
    const hit = await ask(LAST_MONTH);
    expect(hit.headers['cache-status']).toMatch(/detail=l1$/);
    // Its age counts against it: 10 hours are left.
    expect([hit.headers.age, hit.headers['cache-control']]).toEqual(['7200', 'private, max-age=43200']);
    const again = await ask(LAST_MONTH, { 'if-none-match': fetched.headers.etag });
    expect([again.status, again.headers['cache-control']]).toEqual([304, 'private, max-age=43200']);
    for (const format of ['csv', 'raw'])
      expect((await ask(`${LAST_MONTH}&_format=${format}`)).headers['cache-control']).toMatch(
        /max-age=(43200|36000)$/,
      );
    // The same days by their names are the same for ever, in the same entry.
    const named = await ask('advertiserId=1&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-31');
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
    const config = { platform: { timezones: { 1: timezone } } };
    const gateway = await withGateway({ now, config, switches: { timezone } });
    const { headers } = await gateway.report(await gateway.addTeam(), LAST_MONTH);
    expect(headers['cache-control']).toBe(`private, max-age=${hours * 3600}`);
  });

  it('shortens no lifetime that ends earlier, nor one that is old already', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const controlOf = async (period: string) =>
      (await gateway.report(key, `advertiserId=1&byCampaign=1&_period=${period}`)).headers['cache-control'];
    expect(await controlOf('today')).toBe('private, max-age=300');
    gateway.clock.set('2026-11-21T23:58:00Z');
    expect(await controlOf('today')).toBe('private, max-age=120');
    // Past its freshness, answered while a refresh runs behind.
    gateway.clock.set('2026-11-21T23:57:00Z');
    expect(await controlOf('yesterday')).toBe('private, max-age=180');
  });
});
