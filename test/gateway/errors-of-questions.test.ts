import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { type Call, REPORT, withGateway } from '../support/start-gateway.js';
import { problemIn, QUERY } from './problem.js';

describe('what is asked', () => {
  it('is answered 400 for a query that could be read two ways, naming each parameter', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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
    const gateway = await withGateway();
    const key = await gateway.addTeam({ limits: { maxRangeDays: 7 } });
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

  it('is answered 400 for a path in another spelling, before anybody is asked who they are', async () => {
    const gateway = await withGateway();
    for (const path of [
      '/api/v1/report//campaigns/get',
      '/api/v1/Report/campaigns/get',
      '/api/v1/report/campaigns/get/',
      '/api/v1/report/%63ampaigns/get',
    ])
      expect(problemIn(await gateway.call(path))).toBe('400 invalid_path');
  });

  it('is answered 400, 413 or 415 for a body that cannot be read', async () => {
    const gateway = await withGateway({ config: { server: { maxBodyBytes: 1024 } } });
    const key = await gateway.addTeam();
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

  it('tells nobody what is wrong with a body who has no key', async () => {
    const gateway = await withGateway();
    const reply = await gateway.call(REPORT, {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(problemIn(reply)).toBe('401 missing_api_key');
  });

  it('is answered 404, 405, 406 and 414 for what is not there or cannot be given', async () => {
    const gateway = await withGateway({ config: { server: { maxUriBytes: 256 } } });
    const key = await gateway.addTeam();
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

  it('is answered 504 for what is not cached, and only the cache was asked', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    expect(
      problemIn(await gateway.report(key, QUERY, { headers: { 'cache-control': 'only-if-cached' } })),
    ).toBe('504 not_cached');
    expect(gateway.simulator.callCount).toBe(0);
  });
});
