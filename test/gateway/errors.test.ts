/** Every problem says what to do next: with names for a team, in one constant text for whoever has no key. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import type { Fault } from '../../src/simulator/simulator.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { type Call, gatewayAt, outcomeOf, REPORT, withGateway, withTeam } from '../support/start-gateway.js';
import { problemIn, QUERY } from './problem.js';

const UNKNOWN_KEY = 'dgw_00000000000000000000000000000000_4a5EBJ';

describe('who may call', () => {
  it('is answered 401 for no key, a malformed one, an unknown one, two different ones', async () => {
    const { gateway, key } = await withTeam();
    const asked = async (headers: Record<string, string | string[]>) =>
      problemIn(await gateway.call(`${REPORT}?${QUERY}`, { headers }));
    expect(await asked({})).toBe('401 missing_api_key');
    expect(await asked({ cookie: `x-api-key=${key}` })).toBe('401 missing_api_key');
    expect(await asked({ x_api_key: key })).toBe('401 missing_api_key');
    expect(await asked({ 'x-api-key': '' })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': `${key}x` })).toBe('401 invalid_api_key');
    expect(await asked({ authorization: key })).toBe('401 invalid_api_key');
    expect(await asked({ authorization: `Basic ${key}` })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': UNKNOWN_KEY })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': key, authorization: 'Bearer other' })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': [key, key] })).toBe('401 invalid_api_key');
    expect(outcomeOf(await gateway.report(key, `${QUERY}&api_key=${key}`))).toBe('200');
    expect(problemIn(await gateway.call(`${REPORT}?${QUERY}&key=${key}`))).toBe('401 missing_api_key');
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('is answered 403 for another advertiser, or none, of a limited team', async () => {
    const { gateway, key } = await withTeam({}, { advertisers: [2] });
    expect(problemIn(await gateway.report(key, QUERY))).toBe('403 advertiser_forbidden');
    expect(problemIn(await gateway.report(key, ''))).toBe('403 advertiser_required');
    expect(problemIn(await gateway.report(key, 'advertiserId=2&userId=1'))).toBe('403 advertiser_forbidden');
    expect(problemIn(await gateway.report(key, 'advertiserId=2&accountId=1'))).toBe(
      '403 advertiser_forbidden',
    );
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('is answered 503 when the store has been away for too long; until then who is known is let in', async () => {
    let away = false;
    const gateway = await withGateway({
      wrapStore: ({ registry, ...store }) => {
        const changes: typeof registry.changes = (...since) =>
          away ? Promise.reject(new StoreUnavailable('away')) : registry.changes(...since);
        return { ...store, registry: { ...registry, changes } };
      },
    });
    const key = await gateway.addTeam();
    await gateway.services.registry.refresh();
    away = true;
    gateway.clock.advanceMonotonic(899_000);
    expect(outcomeOf(await gateway.report(key, QUERY))).toBe('200');
    gateway.clock.advanceMonotonic(1001);
    const refused = await gateway.report(key, QUERY);
    expect([problemIn(refused), refused.headers['retry-after']]).toEqual(['503 not_ready', '5']);
    expect((await gateway.call('/readyz')).status).toBe(503);
    away = false;
    await gateway.services.registry.refresh();
    expect(outcomeOf(await gateway.report(key, QUERY))).toBe('200');
  });
});

describe('what is asked', () => {
  it('is answered 400 for a query that could be read two ways, naming each parameter', async () => {
    const { gateway, key } = await withTeam();
    const reply = await gateway.report(key, 'advertiserId=1&advertiserId=2&byDate=maybe&_nothing=1');
    expect(problemIn(reply)).toBe('400 invalid_query');
    expect(
      reply
        .json<Problem>()
        .errors?.map(({ param }) => param)
        .toSorted(),
    ).toEqual(['_nothing', 'advertiserId', 'byDate']);
    expect(problemIn(await gateway.report(key, `${QUERY}&_totals=1&_format=csv`))).toBe('400 invalid_query');
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('is answered 400 for a longer period than the team may ask for, also one without an end, or a beginning', async () => {
    const { gateway, key } = await withTeam({}, { limits: { maxRangeDays: 7 } });
    const asked = async (query: string) => {
      const reply = await gateway.report(key, `advertiserId=1&${query}`);
      return reply.status === 200
        ? '200'
        : `${problemIn(reply)} ${reply.json<Problem>().errors?.map(({ param }) => param)}`;
    };
    expect(await asked('dateFrom=2026-11-01&dateTo=2026-11-07')).toBe('200');
    expect(await asked('dateFrom=2026-11-01&dateTo=2026-11-08')).toBe('400 invalid_query dateTo');
    expect(await asked('_period=last_7_days')).toBe('200');
    expect(await asked('_period=last_8_days')).toBe('400 invalid_query dateTo');
    expect(await asked('dateFrom=2026-11-15')).toBe('200');
    expect(await asked('dateFrom=2026-11-14')).toBe('400 invalid_query dateTo');
    // Without a beginning it may begin on any day.
    expect(await asked('dateTo=2026-11-14')).toBe('400 invalid_query dateTo');
    // Without either the platform chooses, as it does for those who do not know it.
    expect(await asked('byCampaign=1')).toBe('200');
  });

  it('is answered 400, 413 or 415 for a body that cannot be read', async () => {
    const { gateway, key } = await withTeam({ config: { server: { maxBodyBytes: 1024 } } });
    const post = async (
      body: string,
      headers: Record<string, string> = { 'content-type': 'application/json' },
    ) => problemIn(await gateway.call(REPORT, { method: 'POST', key, body, headers }));
    expect(await post('{"advertiserId":1,"advertiserId":1}')).toBe('400 invalid_body');
    expect(await post('[]')).toBe('400 invalid_body');
    expect(await post('advertiserId=1', { 'content-type': 'application/x-www-form-urlencoded' })).toBe(
      '415 unsupported_media_type',
    );
    expect(await post('{}', { 'content-type': 'application/json', 'content-encoding': 'gzip' })).toBe(
      '415 unsupported_media_type',
    );
    expect(await post('{}', {})).toBe('415 unsupported_media_type');
    expect(await post(`{"x":"${'x'.repeat(1024)}"}`)).toBe('413 body_too_large');
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('is answered 404, 405, 406 and 414 for what is not there or cannot be given', async () => {
    const { gateway, key } = await withTeam({ config: { server: { maxUriBytes: 256 } } });
    expect(problemIn(await gateway.call('/nothing'))).toBe('404 not_found');
    expect(problemIn(await gateway.call('/api'))).toBe('404 not_found');
    expect(problemIn(await gateway.call('/api/v2/report/campaigns/get', { key }))).toBe('404 not_found');
    expect(problemIn(await gateway.call('/admin/v1/teams', { key }))).toBe('404 not_found');
    const posted = await gateway.call('/healthz', { method: 'POST' });
    expect(problemIn(posted)).toBe('405 method_not_allowed');
    expect(posted.headers.allow).toBe('GET, HEAD');
    for (const method of ['PURGE', 'PROPFIND', 'TRACE'] as const)
      for (const path of ['/healthz', REPORT, '/api/v1/campaign/list']) {
        const refused = await gateway.call(path, { method: method as Call['method'], key });
        expect([method, path, problemIn(refused)]).toEqual([method, path, '405 method_not_allowed']);
      }
    expect(problemIn(await gateway.report(key, QUERY, { headers: { accept: 'text/html' } }))).toBe(
      '406 not_acceptable',
    );
    expect(problemIn(await gateway.report(key, `${QUERY}&x=${'x'.repeat(256)}`))).toBe('414 uri_too_long');
  });
});

describe('what the platform does', () => {
  it('keeps the status and the words of a refusal', async () => {
    const { gateway, key } = await withTeam();
    for (const status of [403, 404, 409, 410, 422, 451] as const) {
      gateway.simulator.fault({ kind: 'status', status, message: `said ${status}` });
      const reply = await gateway.report(key, `${QUERY}&x=${status}`);
      expect(problemIn(reply)).toBe(`${status} upstream_rejected`);
      expect(reply.json<Problem>().upstream).toEqual({ status, message: `said ${status}` });
    }
  });

  async function expectFailure(fault: Fault, expected: string, timeoutMs = 30_000): Promise<void> {
    const { gateway, key } = await withTeam({
      config: { platform: { timeoutMs, maxAnswerBytes: 1_000_000 } },
    });
    gateway.simulator.fault(fault);
    expect(problemIn(await gateway.report(key, QUERY))).toBe(expected);
    gateway.simulator.clearFaults();
    // Nothing of it was kept.
    const again = await gateway.report(key, QUERY);
    expect([again.status, again.headers['cache-status']]).toEqual([200, 'dsp-gateway; fwd=miss; stored']);
  }

  it.each<[string, Fault, string]>([
    ['500', { kind: 'status', status: 500 }, '502 upstream_error'],
    ['a reset', { kind: 'reset', times: 3 }, '502 upstream_error'],
    ['HTML', { kind: 'html' }, '502 upstream_invalid_response'],
    ['half an answer', { kind: 'truncate', times: 3 }, '502 upstream_error'],
    ['too much', { kind: 'oversize', bytes: 3_000_000 }, '502 upstream_too_large'],
    ['206', { kind: 'status', status: 206 }, '502 upstream_invalid_response'],
  ])('%s', async (_what, fault, expected) => expectFailure(fault, expected));

  it('silence, headers without end, a body without end', async () => {
    const endless: Fault[] = [
      { kind: 'hang' },
      { kind: 'hang-headers', latencyMs: 20 },
      { kind: 'slow', latencyMs: 20 },
    ];
    await Promise.all(endless.map((fault) => expectFailure(fault, '504 upstream_timeout', 2000)));
  });

  it.each([204, 205, 304])('%s, which is no report', async (status) => {
    const platform = await startRawPlatform(sends('', {}, status));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    expect(problemIn(await gateway.report(key, QUERY))).toBe('502 upstream_invalid_response');
    platform.answer(sends('{"data":[]}'));
    expect((await gateway.report(key, QUERY)).headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
  });

  it('429 opens a pause for all, that says how long it lasts and ends', async () => {
    const gateway = await withGateway();
    const [one, other] = [await gateway.addTeam(), await gateway.addTeam()];
    gateway.simulator.fault({ kind: 'status', status: 429, retryAfterS: 30 });
    const refused = await gateway.report(one, QUERY);
    expect([problemIn(refused), refused.headers['retry-after']]).toEqual(['503 upstream_rate_limited', '30']);
    gateway.clock.advanceMonotonic(20_000);
    const waiting = await gateway.report(other, 'advertiserId=2');
    expect([problemIn(waiting), waiting.headers['retry-after']]).toEqual(['503 upstream_rate_limited', '10']);
    expect(gateway.simulator.callCount).toBe(1);
    gateway.clock.advanceMonotonic(10_000);
    expect(outcomeOf(await gateway.report(other, 'advertiserId=2'))).toBe('200');
  });

  it('a refused token, with no other to put in its place', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    gateway.simulator.revoke();
    const refused = await gateway.report(key, QUERY);
    expect(problemIn(refused)).toBe('503 credential_unavailable');
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    const ready = await gateway.call('/readyz');
    expect(ready.json()).toMatchObject({ credential: 'refused' });
  });

  it('remembers a refusal for as long as it may, and no other error', async () => {
    const { gateway, key } = await withTeam();
    for (const status of [400, 404, 422] as const) {
      gateway.simulator.fault({ kind: 'status', status, message: 'no' });
      const query = `advertiserId=1&x=${status}`;
      const before = gateway.simulator.callCount;
      for (let at = 0; at < 3; at++)
        expect(problemIn(await gateway.report(key, query))).toBe(`${status} upstream_rejected`);
      gateway.clock.advance(29_999);
      expect(problemIn(await gateway.report(key, query))).toBe(`${status} upstream_rejected`);
      expect(gateway.simulator.callCount - before).toBe(1);
      gateway.clock.advance(1);
      expect(outcomeOf(await gateway.report(key, query))).toBe('200');
    }
    gateway.simulator.fault({ kind: 'status', status: 403, message: 'no' });
    expect(problemIn(await gateway.report(key, 'advertiserId=3'))).toBe('403 upstream_rejected');
    expect(outcomeOf(await gateway.report(key, 'advertiserId=3'))).toBe('200');
  });
});
