import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/simulator/simulator.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import {
  type GatewayOptions,
  gatewayAt,
  outcomeOf,
  reportIn,
  type SimulatedGateway,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { CURRENT, cacheOf, FINAL, RESTATING } from './reports.js';

/** A gateway that holds a report past its revalidation, for use only when the platform fails. */
async function holding(gateway: Promise<SimulatedGateway> = withGateway()) {
  const started = await gateway;
  const key = await started.addTeam();
  const first = reportIn(await started.report(key, RESTATING));
  started.clock.advance(HOUR + 11 * MINUTE);
  return { gateway: started, key, first };
}

/** The time of a call is short where it has to pass, and long where it must not. */
const quick = (timeoutMs: number) =>
  withGateway({ config: { platform: { timeoutMs, maxAnswerBytes: 1_000_000 } } });

describe('stale-if-error', () => {
  it.each<[string, Fault]>([
    ['500', { kind: 'status', status: 500 }],
    ['429', { kind: 'status', status: 429, retryAfterS: 60 }],
    ['a reset', { kind: 'reset', times: 3 }],
    ['silence', { kind: 'hang' }],
    ['HTML', { kind: 'html' }],
    ['garbage', { kind: 'garbage' }],
    ['half an answer', { kind: 'truncate', times: 3 }],
    ['too much', { kind: 'oversize', bytes: 3_000_000 }],
    ['a redirect to the login', { kind: 'redirect', location: '/login' }],
    ['401', { kind: 'status', status: 401 }],
  ])('answers with what it has on %s, and says so', async (_what, fault) => {
    const timeoutMs = fault.kind === 'hang' ? 1500 : 30_000;
    const { gateway, key, first } = await holding(quick(timeoutMs));
    gateway.simulator.fault(fault);
    const reply = await gateway.report(key, RESTATING);
    expect(cacheOf(reply)).toBe('hit; ttl=-660; detail=stale-if-error');
    expect(reply.headers).toMatchObject({ age: '4260', 'cache-control': 'private, max-age=4260' });
    expect(reportIn(reply)).toEqual({ data: first.data, meta: { ...first.meta, stale: true } });
  });

  it('answers while a pause lasts, without asking, and for a token that nothing replaces', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 429, retryAfterS: 600 });
    await gateway.report(key, RESTATING);
    const calls = gateway.simulator.callCount;
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    expect(gateway.simulator.callCount).toBe(calls);
    gateway.clock.advance(10 * MINUTE);
    gateway.simulator.revoke();
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
  });

  it('answers when too many wait for the platform already', async () => {
    const platform = await startHeldPlatform(sends('{"data":[]}'));
    const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1, maxQueued: 0 } } });
    const key = await gateway.addTeam();
    platform.release();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + 11 * MINUTE);
    platform.hold();
    const slow = gateway.report(key, 'advertiserId=2');
    await platform.arrived(2);
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    platform.release();
    expect(outcomeOf(await slow)).toBe('200');
  });

  it.each([400, 403, 404, 409, 422])('does not hide a refusal: %s', async (status) => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status });
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe(`${status} upstream_rejected`);
  });

  it('lasts seven days, and not a moment longer', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    gateway.clock.set('2026-11-28T12:59:59.999Z');
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    gateway.clock.advance(1);
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe('502 upstream_error');
  });

  it('is not kept in memory as if it were fresh, and ends when the platform is back', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe('fwd=stale; stored');
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/^hit; ttl=3600/);
  });

  it('comes to the rescue of totals alone, too', async () => {
    const { gateway, key } = await withTeam();
    const query = `${RESTATING}&byDate=1&_totals=1`;
    await gateway.report(key, query);
    gateway.clock.advance(2 * DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const reply = await gateway.report(key, query);
    expect(cacheOf(reply)).toMatch(/stale-if-error$/);
    expect(reportIn(reply).meta).toMatchObject({ stale: true, totals: { reach: expect.any(Number) } });
  });
});

describe('a cached report whose totals the platform does not give', () => {
  const withTotals = `${RESTATING}&byDate=1&_totals=1`;

  async function withCachedRows(timeoutMs = 30_000) {
    const gateway = await quick(timeoutMs);
    const key = await gateway.addTeam();
    const { data } = reportIn(await gateway.report(key, `${RESTATING}&byDate=1`));
    return { gateway, key, data };
  }

  it.each<[string, Fault]>([
    ['upstream_error', { kind: 'status', status: 500, times: 0 }],
    ['upstream_rate_limited', { kind: 'status', status: 429, retryAfterS: 60, times: 0 }],
    ['upstream_error', { kind: 'reset', times: 0 }],
    ['upstream_timeout', { kind: 'hang', times: 0 }],
    ['credential_unavailable', { kind: 'status', status: 401, times: 0 }],
  ])('is answered without them, with a warning that names %s', async (code, fault) => {
    const { gateway, key, data } = await withCachedRows(fault.kind === 'hang' ? 1500 : 30_000);
    gateway.simulator.fault(fault);
    const reply = await gateway.report(key, withTotals);
    expect(outcomeOf(reply)).toBe('200');
    const { meta, data: rows } = reportIn(reply);
    expect(rows).toEqual(data);
    expect(meta).not.toHaveProperty('totals');
    expect(meta.warnings).toEqual([
      { code: 'totals_unavailable', message: expect.stringContaining(`could not be fetched (${code}: `) },
    ]);
  });

  it('is answered without them while calls are suspended', async () => {
    const { gateway, key } = await withCachedRows();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    while (outcomeOf(await gateway.report(key, 'advertiserId=2')) !== '503 upstream_circuit_open');
    const [warning] = reportIn(await gateway.report(key, withTotals)).meta.warnings ?? [];
    expect(warning?.message).toContain('upstream_circuit_open: Platform calls suspended');
  });

  it('is kept by nobody, so that the next request has the totals once the platform is back', async () => {
    const { gateway, key } = await withCachedRows();
    gateway.simulator.fault({ kind: 'status', status: 500 });
    const reply = await gateway.report(key, withTotals);
    expect(reply.headers['cache-control']).toBe('private, no-store');
    expect(cacheOf(reply)).toMatch(/^hit/);
    const { meta } = reportIn(await gateway.report(key, withTotals));
    expect(meta).toMatchObject({ totals: { reach: expect.any(Number) } });
    expect(meta).not.toHaveProperty('warnings');
  });

  it('is refused with the error of its rows if these are not cached either', async () => {
    const { gateway, key } = await withTeam();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    expect(outcomeOf(await gateway.report(key, withTotals))).toBe('502 upstream_error');
  });

  it('is refused with only-if-cached, which asks whether all of it is cached', async () => {
    const { gateway, key } = await withCachedRows();
    const headers = { 'cache-control': 'only-if-cached' };
    expect(outcomeOf(await gateway.report(key, withTotals, { headers }))).toBe('504 not_cached');
  });
});

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1,"clicks":2}]}';

describe('stale-while-revalidate', () => {
  it('answers at once with what there is, asks behind, and has the new answer next time', async () => {
    const { gateway, key } = await withTeam();
    const first = reportIn(await gateway.report(key, RESTATING));
    gateway.simulator.restate({ advertiserId: 1 });
    gateway.clock.advance(HOUR);
    const stale = await gateway.report(key, RESTATING);
    expect(cacheOf(stale)).toBe('hit; ttl=0; detail=stale-while-revalidate');
    expect(stale.headers).toMatchObject({ age: '3600', 'cache-control': 'private, max-age=3600' });
    expect(reportIn(stale)).toEqual({ data: first.data, meta: { ...first.meta, stale: true } });
    await gateway.services.settled();
    const fresh = await gateway.report(key, RESTATING);
    expect(cacheOf(fresh)).toBe('hit; ttl=3600; detail=store');
    expect(reportIn(fresh).meta).toMatchObject({ asOf: '2026-11-21T13:00:00.000Z', stale: false });
    expect(reportIn(fresh).data).not.toEqual(first.data);
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('asks once for all who come meanwhile, and lets none of them wait', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    platform.release();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + SECOND);
    platform.hold();
    const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.report(key, RESTATING)));
    expect(new Set(replies.map(cacheOf))).toEqual(new Set(['hit; ttl=-1; detail=stale-while-revalidate']));
    await platform.arrived(2);
    platform.release();
    await gateway.services.settled();
    expect(platform.requests).toHaveLength(2);
  });

  it('lasts ten minutes; then whoever asks waits for the platform', async () => {
    const { gateway, key } = await withTeam();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + 10 * MINUTE - 1);
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe(
      'hit; ttl=-600; detail=stale-while-revalidate',
    );
    await gateway.services.settled();
    gateway.clock.advance(1);
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe('fwd=stale; stored');
  });

  it('goes on when the refresh fails, says so in the log, and tries again five seconds later', async () => {
    const { gateway, key } = await withTeam();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 2 });
    const failures = () => gateway.log.filter(({ msg }) => msg.includes('background refresh')).length;
    for (const [restS, ttl, failed] of [
      [0, 0, 1],
      [0, 0, 1],
      [5, -5, 2],
    ] as const) {
      gateway.clock.advance(restS * 1000);
      const answer = await gateway.report(key, RESTATING);
      expect(cacheOf(answer)).toBe(`hit; ttl=${ttl}; detail=stale-while-revalidate`);
      await gateway.services.settled();
      expect(failures()).toBe(failed);
    }
  });
});

const DAYS = `${byDay('2026-11-01', '2026-11-03')}&_days=1`;

describe('a fresh answer that a caller wants fresher, while the platform fails', () => {
  /** Days are cached one by one; then the platform fails. */
  async function failing(settings: object = {}) {
    const gateway = await withGateway({ config: { report: { ...ALWAYS.report, ...settings } } });
    const key = await gateway.addTeam();
    await gateway.report(key, DAYS);
    gateway.clock.advance(MINUTE);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const fresher = (query: string, cacheControl: string) =>
      gateway.report(key, query, { headers: { 'cache-control': cacheControl } });
    return { gateway, key, fresher };
  }

  it.each(['no-cache', 'max-age=30'])('%s gets it as stale, expired and still final', async (directive) => {
    const { gateway, key, fresher } = await failing();
    const reply = await fresher(DAYS, directive);
    expect(cacheOf(reply)).toBe('hit; ttl=0; detail=stale-if-error');
    expect(reply.headers).toMatchObject({ age: '60', 'cache-control': 'private, max-age=60' });
    const { meta } = reportIn(reply);
    expect(meta).toMatchObject({ stale: true, final: true, asOf: '2026-11-21T12:00:00.000Z' });
    expect(meta.days?.map(({ stale }) => stale)).toEqual([true, true, true]);
    // Who asks for nothing fresher has the answer as fresh as it is.
    const plain = await gateway.report(key, DAYS);
    expect(cacheOf(plain)).toBe('hit; ttl=2591940; detail=l1');
    expect(reportIn(plain).meta.stale).toBe(false);
  });

  it('gets only the days as stale whose call failed', async () => {
    const { gateway, key, fresher } = await failing({ maxDaysPerCall: 2 });
    gateway.simulator.clearFaults();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0, to: '2026-11-02' });
    const { meta } = reportIn(await fresher(DAYS, 'no-cache'));
    expect(meta.days?.map(({ asOf, stale }) => [asOf.slice(11, 16), stale])).toEqual([
      ['12:00', true],
      ['12:00', true],
      ['12:01', false],
    ]);
    expect(meta).toMatchObject({ stale: true, final: true });
    expect(cacheOf(await gateway.report(key, DAYS))).toMatch(/^hit/);
  });

  it('is stale in every format, and with its totals', async () => {
    const { gateway, key, fresher } = await failing();
    gateway.simulator.clearFaults();
    const asks = ['_format=csv', '_format=raw', '_totals=1'].map((more) => DAYS.replace('_days=1', more));
    for (const query of asks) await gateway.report(key, query);
    gateway.clock.advance(MINUTE);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    for (const query of asks) {
      const reply = await fresher(query, 'no-cache');
      expect([query, cacheOf(reply)]).toEqual([query, 'hit; ttl=0; detail=stale-if-error']);
      expect(reply.headers['cache-control']).toBe(`private, max-age=${reply.headers.age}`);
    }
  });
});

/** A gateway that has answered a report, and a team that may ask for fresher ones. */
async function answered(query = FINAL) {
  const { gateway, key } = await withTeam();
  await gateway.report(key, query);
  const directives = (cacheControl: string, team = key) =>
    gateway.report(team, query, { headers: { 'cache-control': cacheControl } });
  return { gateway, key, directives };
}

describe('no-cache and max-age', () => {
  it('ask the platform anew, and everybody has the new answer', async () => {
    const { gateway, key, directives } = await answered();
    gateway.clock.advance(MINUTE);
    expect(cacheOf(await directives('no-cache'))).toBe('fwd=request; stored');
    expect(gateway.simulator.callCount).toBe(2);
    const next = await gateway.report(key, FINAL);
    expect([cacheOf(next), next.headers.age]).toEqual(['hit; ttl=2592000; detail=l1', '0']);
  });

  it('ask only when what there is is older than they want', async () => {
    const { gateway, directives } = await answered();
    gateway.clock.advance(MINUTE);
    expect(cacheOf(await directives('max-age=60'))).toMatch(/^hit/);
    expect(cacheOf(await directives('max-age=59'))).toBe('fwd=request; stored');
    expect(cacheOf(await directives('max-age=59'))).toMatch(/^hit/);
    expect(cacheOf(await directives('max-age=0'))).toBe('fwd=request; stored');
  });

  it('have no effect without the scope cache:refresh, which a hit says of those that asked for fresher', async () => {
    const { gateway, directives } = await answered();
    const plain = await gateway.addTeam({ scopes: ['report:read'] });
    for (const directive of ['no-cache', 'max-age=0', 'no-store']) {
      expect(cacheOf(await directives(directive, plain))).toMatch(
        directive === 'no-store'
          ? /^hit; ttl=\d+; detail=l1$/
          : /^hit; ttl=\d+; detail="l1 refresh-ignored"$/,
      );
    }
    expect(cacheOf(await directives('max-age=86400', plain))).toMatch(/detail=l1$/);
    expect(gateway.simulator.callCount).toBe(1);
  });
});

describe('only-if-cached', () => {
  it('takes what is cached, stale or not, and otherwise says that it is not', async () => {
    const { gateway, key, directives } = await answered(RESTATING);
    expect(cacheOf(await directives('only-if-cached'))).toMatch(/^hit/);
    gateway.clock.advance(HOUR);
    expect(cacheOf(await directives('only-if-cached'))).toMatch(/stale-while-revalidate$/);
    await gateway.services.settled();
    // Nothing is asked for behind it either: that would be a call nobody wanted.
    expect(gateway.simulator.callCount).toBe(1);
    gateway.clock.advance(DAY);
    expect(outcomeOf(await directives('only-if-cached'))).toBe('504 not_cached');
    expect(outcomeOf(await directives('only-if-cached, no-cache'))).toBe('504 not_cached');
    const totals = await gateway.report(key, `${RESTATING}&_totals=1`, {
      headers: { 'cache-control': 'only-if-cached' },
    });
    expect(outcomeOf(totals)).toBe('504 not_cached');
    expect(gateway.simulator.callCount).toBe(1);
  });
});

describe('max-stale', () => {
  it('takes what is past its freshness by so much, at once, and has it refreshed behind', async () => {
    const { gateway, directives } = await answered(RESTATING);
    gateway.clock.advance(HOUR + 20 * MINUTE);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('hit; ttl=-1200; detail=stale-while-revalidate');
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(2);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('hit; ttl=3600; detail=store');
  });

  it('does not take what is past it by more', async () => {
    const { gateway, directives } = await answered(RESTATING);
    gateway.clock.advance(HOUR + 20 * MINUTE + SECOND);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('fwd=stale; stored');
  });

  it('without a number takes whatever is kept, needs no scope, and has its end where stale-if-error has', async () => {
    const { gateway, directives } = await answered(RESTATING);
    const plain = await gateway.addTeam({ scopes: ['report:read'] });
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    gateway.clock.advance(7 * DAY + HOUR - 1);
    expect(cacheOf(await directives('max-stale', plain))).toBe(
      'hit; ttl=-604800; detail=stale-while-revalidate',
    );
    await gateway.services.settled();
    gateway.clock.advance(1);
    expect(outcomeOf(await directives('max-stale', plain))).toBe('502 upstream_error');
  });
});

const ORIGIN = { report: { endpoints: { 'campaigns/get': { freshness: 'origin', readByPost: true } } } };

describe('the platform’s own caching headers', () => {
  it.each(['no-cache, private', '', 'max-age=1', 'private', 'must-revalidate'])(
    'do not decide by default: %j',
    async (cacheControl) => {
      const { gateway, key } = await withTeam({ switches: { cacheControl, vary: '*' } });
      await gateway.report(key, FINAL);
      expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit/);
    },
  );

  it.each(['no-store', 'No-Store, max-age=60', 'private, no-store'])(
    'are honoured when they say no-store: %j',
    async (cacheControl) => {
      const { gateway, key } = await withTeam({ switches: { cacheControl } });
      for (const format of ['json', 'raw', 'json']) {
        const reply = await gateway.report(key, `${FINAL}&_format=${format}`);
        expect([reply.status, cacheOf(reply), reply.headers['cache-control']]).toEqual([
          200,
          'fwd=miss',
          'private, no-store',
        ]);
      }
      expect(gateway.simulator.callCount).toBe(3);
      expect(gateway.services.l1.entries).toBe(0);
    },
  );

  it('are honoured for a refusal, too', async () => {
    const { gateway, key } = await withTeam({
      switches: { cacheControl: 'no-store', foreignAdvertiser: 404 },
    });
    for (let at = 0; at < 2; at++)
      expect(outcomeOf(await gateway.report(key, 'advertiserId=999'))).toBe('404 upstream_rejected');
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('no-store is still asked for once by all who ask at the same time', async () => {
    const platform = await startHeldPlatform(sends('{"data":[]}', { 'cache-control': 'no-store' }));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const calls = [0, 1, 2].map(() => gateway.report(key, FINAL));
    await platform.arrived(1);
    platform.release();
    expect((await Promise.all(calls)).map(cacheOf)).toEqual([
      'fwd=miss',
      'fwd=miss; collapsed',
      'fwd=miss; collapsed',
    ]);
    expect(platform.requests).toHaveLength(1);
  });
});

describe('freshness: origin', () => {
  it.each<[string, string, number]>([
    ['max-age=60', '', 60],
    ['must-revalidate, max-age=60', '', 60],
  ])('keeps an answer for as long as RFC 9111 lets it: %j', async (cacheControl, vary, seconds) => {
    const { gateway, key } = await withTeam({ config: ORIGIN, switches: { cacheControl, vary } });
    const first = await gateway.report(key, FINAL);
    expect([cacheOf(first), first.headers['cache-control']]).toEqual([
      'fwd=miss; stored',
      `private, max-age=${seconds}`,
    ]);
    gateway.clock.advance((seconds - 1) * SECOND);
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit; ttl=1;/);
    gateway.clock.advance(SECOND);
    // Stale answers are the gateway's own rule, and do not hold here.
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^fwd=/);
    gateway.clock.advance(seconds * SECOND);
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_error');
  });

  it.each<[string, string]>([
    ['no-store', ''],
    ['private, max-age=60', ''],
    ['max-age=60', '*'],
    ['no-cache, max-age=60', ''],
    ['', ''],
  ])('answers nobody twice with cache-control %j, vary %j', async (cacheControl, vary) => {
    const { gateway, key } = await withTeam({ config: ORIGIN, switches: { cacheControl, vary } });
    for (let at = 0; at < 2; at++) expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^fwd=/);
    expect(gateway.simulator.callCount).toBe(2);
  });
});

describe('how long an answer is fresh', () => {
  it.each<[string, string, number, boolean]>([
    ['a final period', FINAL, 30 * 86_400, true],
    ['yesterday', RESTATING, 3600, false],
    ['today', CURRENT, 300, false],
    ['no advertiser', 'dateFrom=2026-11-01&dateTo=2026-11-02', 300, true],
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

  it('an undeclared endpoint, five minutes, whatever its days', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const target = '/api/v1/report/creatives/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    expect((await gateway.call(target, { key })).headers['cache-control']).toBe('private, max-age=300');
    expect(cacheOf(await gateway.call(target, { key }))).toBe('hit; ttl=300; detail=l1');
  });

  it('an empty final day, an hour, until a second look an hour later says the same', async () => {
    const { gateway, key } = await withTeam({ switches: { emptyDays: ['2026-11-10'] } });
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
});
