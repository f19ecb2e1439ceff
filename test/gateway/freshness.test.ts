import { describe, expect, it } from 'vitest';
import { type GatewayOptions, gatewayAt, reportIn, withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';
import { CURRENT, cacheOf, FINAL, RESTATING } from './reports.js';

describe('how long an answer is fresh', () => {
  it.each<[string, string, number, boolean]>([
    ['a final period', FINAL, 30 * 86_400, true],
    ['a day that may be restated', 'advertiserId=1&dateFrom=2026-11-16&dateTo=2026-11-16', 3600, false],
    ['yesterday', RESTATING, 3600, false],
    ['today', CURRENT, 300, false],
    ['days to come', 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-12-24', 300, false],
    ['no advertiser', 'dateFrom=2026-11-01&dateTo=2026-11-02', 300, true],
    ['no period', 'advertiserId=1', 300, false],
    ['no end', 'advertiserId=1&dateFrom=2026-11-01', 300, false],
    ['no beginning', 'advertiserId=1&dateTo=2026-11-02', 300, true],
  ])('%s', async (_what, query, seconds, final) => {
    const gateway = await withGateway();
    const reply = await gateway.report(await gateway.addTeam({ limits: { maxRangeDays: 10_000 } }), query);
    expect(reply.headers['cache-control']).toBe(`private, max-age=${seconds}`);
    expect(reportIn(reply).meta.final).toBe(final);
  });

  it('counts the day in the platform’s time zone', async () => {
    // Noon in UTC is the 22nd already: the 16th is final.
    const kiritimati: GatewayOptions = { config: { platform: { timezone: 'Pacific/Kiritimati' } } };
    const query = 'advertiserId=1&dateFrom=2026-11-16&dateTo=2026-11-16';
    const gateway = await withGateway({ ...kiritimati, switches: { timezone: 'Pacific/Kiritimati' } });
    const reply = await gateway.report(await gateway.addTeam(), query);
    expect(reportIn(reply).meta.final).toBe(true);
    expect(reply.headers['cache-control']).toBe('private, max-age=2592000');
  });

  it('follows the settings', async () => {
    const gateway = await withGateway({
      config: {
        report: {
          restatementDays: 10,
          freshness: { currentSeconds: 7, restatingSeconds: 70, finalSeconds: 700 },
        },
      },
    });
    const key = await gateway.addTeam();
    const maxAge = async (to: string) =>
      (await gateway.report(key, `advertiserId=1&dateFrom=2026-11-01&dateTo=${to}`)).headers['cache-control'];
    expect(await maxAge('2026-11-10')).toBe('private, max-age=700');
    expect(await maxAge('2026-11-11')).toBe('private, max-age=70');
    expect(await maxAge('2026-11-21')).toBe('private, max-age=7');
  });

  it('an undeclared endpoint, five minutes, whatever its days', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const target = '/api/v1/report/creatives/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    expect((await gateway.call(target, { key })).headers['cache-control']).toBe('private, max-age=300');
    expect(cacheOf(await gateway.call(target, { key }))).toBe('hit; ttl=300; detail=l1');
  });

  it('an empty final day, an hour, until a second look an hour later says the same', async () => {
    const gateway = await withGateway({ switches: { emptyDays: ['2026-11-10'] } });
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-10&dateTo=2026-11-10';
    const asked = async () => {
      const reply = await gateway.report(key, query);
      await gateway.services.settled();
      return [reportIn(reply).meta.rowCount, reply.headers['cache-control']];
    };
    expect(await asked()).toEqual([0, 'private, max-age=3600']);
    gateway.clock.advance(HOUR);
    // Stale, and looked at again behind it.
    expect(await asked()).toEqual([0, 'private, max-age=3600']);
    expect(gateway.simulator.callCount).toBe(2);
    expect(await asked()).toEqual([0, 'private, max-age=2592000']);
  });

  it('an empty final day that gets its rows after all, as any other', async () => {
    const gateway = await withGateway({ switches: { emptyDays: ['2026-11-10'] } });
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-10&dateTo=2026-11-10';
    expect(reportIn(await gateway.report(key, query)).data).toEqual([]);
    gateway.simulator.set({ emptyDays: [] });
    gateway.clock.advance(2 * HOUR);
    const reply = await gateway.report(key, query);
    expect(reportIn(reply).data.length).toBeGreaterThan(0);
    expect(reply.headers['cache-control']).toBe('private, max-age=2592000');
  });

  it('an empty day that may be restated, five minutes', async () => {
    const gateway = await withGateway({ switches: { emptyDays: ['2026-11-18'] } });
    const reply = await gateway.report(
      await gateway.addTeam(),
      'advertiserId=1&dateFrom=2026-11-18&dateTo=2026-11-18&byCampaign=1',
    );
    expect(reply.headers['cache-control']).toBe('private, max-age=300');
  });
});

describe('the clock of another replica', () => {
  it('may be a little ahead, and never makes an age negative', async () => {
    const ahead = await withGateway({ now: '2026-11-21T12:05:00Z' });
    const key = await ahead.addTeam();
    await ahead.report(key, FINAL);
    const behind = await gatewayAt(ahead.simulator, { sharedStore: ahead.store });
    const reply = await behind.report(key, FINAL);
    expect(cacheOf(reply)).toBe('hit; ttl=2592300; detail=store');
    expect(reply.headers.age).toBe('0');
  });

  it('that is further ahead is not trusted', async () => {
    const ahead = await withGateway({ now: '2026-11-21T12:05:00.001Z' });
    const key = await ahead.addTeam();
    await ahead.report(key, FINAL);
    const behind = await gatewayAt(ahead.simulator, { sharedStore: ahead.store });
    expect(cacheOf(await behind.report(key, FINAL))).toMatch(/^fwd=/);
  });
});
