/** What the metrics tell of requests is what their answers say, by whichever way they are given. */

import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/port.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { rule } from '../support/scene.js';
import {
  ADMIN_TOKEN,
  gatewayAt,
  outcomeOf,
  REPORT,
  reportIn,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';
import { FINAL, RESTATING } from './reports.js';

const lines = (gateway: SimulatedGateway) =>
  gateway.log.filter(({ plane, msg }) => plane === 'data' && msg === 'request');

describe('the log line of a request', () => {
  it('says who asked for what, how it was answered, and what it cost', async () => {
    const { gateway, key } = await withTeam({}, { id: 'growth' });
    const reply = await gateway.report(key, `${FINAL}&secretish=1`);
    const [line] = lines(gateway);
    expect(line).toEqual({
      level: 'info',
      time: expect.any(String),
      pid: process.pid,
      reqId: reply.headers['x-request-id'],
      plane: 'data',
      method: 'GET',
      path: '/api/v1/report/campaigns/get',
      status: 200,
      ms: expect.any(Number),
      team: 'growth',
      key: expect.stringMatching(/^key_/),
      outcome: 'miss',
      platformCalls: 1,
      platformMs: expect.any(Number),
      rows: expect.any(Number),
      msg: 'request',
    });
    expect(gateway.logText).not.toContain('secretish');
  });

  it('is one for each request, whatever came of it', async () => {
    const { gateway, key } = await withTeam({}, { id: 'growth', advertisers: [1] });
    await gateway.report(key, RESTATING);
    await gateway.report(key, RESTATING);
    await gateway.report(key, RESTATING, { headers: { 'if-none-match': '*' } });
    await gateway.report(key, RESTATING, { method: 'HEAD' });
    gateway.clock.advance(HOUR);
    await gateway.report(key, RESTATING);
    await gateway.services.settled();
    await gateway.report(key, 'advertiserId=2');
    await gateway.call('/api/v1/report/campaigns/get');
    await gateway.call('/api/v1//x');
    await gateway.call('/nothing');
    gateway.simulator.fault({ kind: 'status', status: 500 });
    await gateway.report(key, 'advertiserId=1');
    expect(
      lines(gateway).map(({ status, outcome, code, team, level }) => [status, outcome, code, team, level]),
    ).toEqual([
      [200, 'miss', undefined, 'growth', 'info'],
      [200, 'hit', undefined, 'growth', 'info'],
      [304, 'hit', undefined, 'growth', 'info'],
      [200, 'hit', undefined, 'growth', 'info'],
      [200, 'stale', undefined, 'growth', 'info'],
      [403, 'error', 'advertiser_forbidden', 'growth', 'info'],
      [401, 'error', 'missing_api_key', null, 'info'],
      [400, 'error', 'invalid_path', null, 'info'],
      [404, 'error', 'not_found', null, 'info'],
      [502, 'failed', 'upstream_error', 'growth', 'warn'],
    ]);
  });

  it('says why an answer of the platform was refused, in more words than its caller is told', async () => {
    const { gateway, key } = await withTeam();
    gateway.simulator.fault({ kind: 'html' });
    await gateway.report(key, FINAL);
    gateway.simulator.fault({ kind: 'garbage' });
    const reply = await gateway.report(key, FINAL);
    const [page, broken] = lines(gateway).map(({ cause }) => String(cause));
    expect(page).toBe('the answer is an HTML page');
    expect(broken).toMatch(/UTF-8|position/);
    expect(reply.text).not.toContain(broken);
  });

  it('never holds a key, a token or a query, however they were sent', async () => {
    const { gateway, key } = await withTeam({ switches: { echoToken: true } });
    await gateway.call(`/api/v1/report/campaigns/get?api_key=${key}`);
    await gateway.call(`/api/v1/${key}`, { key });
    await gateway.call(`/${key}/x`, { headers: { authorization: `Bearer ${key}x` } });
    await gateway.call('/api/v1/campaign/get', { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    await gateway.report(key, FINAL);
    await gateway.report(key, `${FINAL}&_format=raw`);
    gateway.simulator.fault({ kind: 'status', status: 422, message: `token ${gateway.simulator.token}` });
    await gateway.report(key, RESTATING);
    gateway.simulator.fault({ kind: 'status', status: 500, message: `token ${gateway.simulator.token}` });
    await gateway.report(key, 'advertiserId=3');
    for (const secret of [key, key.slice(4, 36), gateway.simulator.token, ADMIN_TOKEN])
      expect(gateway.logText).not.toContain(secret);
    expect(lines(gateway)).toHaveLength(8);
  });
});

async function counts({ services }: TestGateway): Promise<Record<string, number>> {
  const text = await services.metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => /_(hits|saved|problems)_total\{/.test(line));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice('dsp_gateway_'.length, line.lastIndexOf(' ')),
      Number(line.split(' ').at(-1)),
    ]),
  );
}

it.each([true, false])('hits by tier, calls saved, problems; answered at once: %s', async (fastPath) => {
  const { gateway, key } = await withTeam({ logLevel: 'info', config: { server: { fastPath } } });
  const url = await listenGateway(gateway);
  const ask = (query: string) => fetch(`${url}${REPORT}?${query}`, { headers: { 'x-api-key': key } });
  const query = 'advertiserId=1&byDate=1&_period=yesterday';
  const said: (string | null)[] = [];
  for (const one of [query, query, `${query}&_format=csv`, 'advertiserId=1&byDate=maybe']) {
    const answer = await ask(one);
    await answer.text();
    said.push(answer.headers.get('cache-status'));
  }
  expect(said.slice(0, 3)).toEqual([
    expect.stringContaining('fwd=miss'),
    expect.stringContaining('detail=l1'),
    expect.stringContaining('detail=store'),
  ]);
  await expect
    .poll(() => counts(gateway))
    .toEqual({
      'report_hits_total{tier="l1"}': 1,
      'report_hits_total{tier="store"}': 1,
      'platform_calls_saved_total{team="team-1"}': 2,
      'problems_total{plane="data",code="invalid_query"}': 1,
    });
});

interface Shown {
  readonly series: {
    readonly requests: readonly number[];
    readonly errors: readonly number[];
    readonly outcomes: Readonly<Record<string, readonly number[]>>;
    readonly hitTiers: { readonly memory: readonly number[]; readonly store: readonly number[] };
    readonly platformCalls: readonly number[];
    readonly platformCallsSaved: readonly number[];
    readonly budgetLeft: readonly (number | null)[];
    readonly latency: { readonly counts: readonly (readonly number[])[] };
  };
}
const BY_DATE = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const sum = (numbers: readonly number[] = []) => numbers.reduce((all, one) => all + one, 0);

it('counts reports by either way, what is refused, and no probe', async () => {
  const { gateway, key } = await withTeam({}, { id: 'growth', name: 'Growth' });
  await gateway.report(key, BY_DATE);
  await gateway.report(key, BY_DATE);
  for (const probe of ['/healthz', '/readyz', '/', '/gateway/v1/me']) await gateway.call(probe, { key });
  await gateway.call(REPORT);
  await gateway.report(key, 'dateFrom=nonsense');
  await gateway.services.settled();
  const all = (await gateway.manage('GET', '/series?range=1h')) as unknown as Shown;
  expect([sum(all.series.requests), sum(all.series.errors)]).toEqual([4, 2]);
  expect([
    sum(all.series.outcomes.hit),
    sum(all.series.outcomes.miss),
    sum(all.series.outcomes.other),
  ]).toEqual([1, 1, 2]);
  expect([sum(all.series.hitTiers.memory), sum(all.series.hitTiers.store)]).toEqual([1, 0]);
  expect(sum(all.series.latency.counts.flat())).toBe(4);
  const calls = sum(all.series.platformCalls);
  expect(calls).toBeGreaterThan(0);
  const own = (await gateway.call('/gateway/v1/series?range=24h', { key })).json<Shown>();
  expect([sum(own.series.requests), sum(own.series.errors), sum(own.series.platformCallsSaved)]).toEqual([
    3, 1, 1,
  ]);
  const forecast = { used: 0, exhaustedAt: null };
  expect({ ...own, forecast }).toEqual(await gateway.manage('GET', '/series?range=24h&team=growth'));
  expect(own.series.budgetLeft.at(-1)).toBe(
    (gateway.services.directory.team('growth')?.limits.upstreamCallsPerDay ?? 0) -
      sum(own.series.platformCalls),
  );
});

it('is refused without a range, without a key, and while the store is away', async () => {
  let isAway = false;
  const gateway = await withGateway({
    wrapStore: (store) =>
      Object.assign(Object.create(store), {
        counters: {
          ...store.counters,
          read: async (groups: readonly string[]) => {
            if (isAway) throw new StoreUnavailable('away');
            return await store.counters.read(groups);
          },
        },
      }),
  });
  const key = await gateway.addTeam();
  expect(outcomeOf(await gateway.call('/gateway/v1/series', { key }))).toBe('400 invalid_query');
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=2h', { key }))).toBe('400 invalid_query');
  const misspelt = await gateway.call('/gateway/v1/series?range=1h&teem=growth', { key });
  expect(misspelt.json()).toMatchObject({ code: 'invalid_query', errors: [{ param: 'teem' }] });
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h'))).toBe('401 missing_api_key');
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h', { key, method: 'POST' }))).toBe(
    '405 method_not_allowed',
  );
  isAway = true;
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h', { key }))).toBe('503 not_ready');
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await gateway.admin.inject({ url: '/admin/v1/series/teams?range=1h', headers });
  expect(answer.json()).toMatchObject({ status: 503, code: 'not_ready' });
});

const LARGE = 'advertiserId=1&byCampaign=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const QUIET = {
  requests: 0,
  hits: 0,
  stale: 0,
  misses: 0,
  upstreamCalls: 0,
  upstreamCallsSaved: 0,
  rows: 0,
  bytesOut: 0,
  errors: 0,
  rateLimited: 0,
};

interface ShownUsage {
  readonly from: string;
  readonly to: string;
  readonly usage: readonly ({ readonly day: string; readonly team: string } & typeof QUIET)[];
}

async function usageOf(gateway: TestGateway, query = ''): Promise<ShownUsage> {
  await gateway.services.tally.flush();
  return (await gateway.manage('GET', `/usage${query}`)) as unknown as ShownUsage;
}

/** What was counted of one team today. */
async function today(gateway: TestGateway, team: string) {
  const { usage } = await usageOf(gateway, `?team=${team}`);
  const { day: _, team: __, ...counts } = usage.at(-1) ?? { day: '', team, ...QUIET };
  return counts;
}

describe('usage', () => {
  it('counts misses, hits and stale answers, their rows and bytes, and what they cost and saved', async () => {
    const { gateway, key } = await withTeam({ config: rule({ divisible: 'never' }) }, { id: 'a' });
    const first = await gateway.report(key, LARGE);
    const { rowCount } = reportIn(first).meta;
    expect(rowCount).toBeGreaterThan(0);
    expect(await today(gateway, 'a')).toEqual({
      ...QUIET,
      requests: 1,
      misses: 1,
      upstreamCalls: 1,
      rows: rowCount,
      bytesOut: first.body.length,
    });
    const gzip = await gateway.report(key, LARGE, { headers: { 'accept-encoding': 'gzip' } });
    expect(gzip.body.length).toBeLessThan(first.body.length);
    const csv = await gateway.report(key, `${LARGE}&_format=csv`);
    const unchanged = await gateway.report(key, LARGE, {
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    expect(unchanged.status).toBe(304);
    const head = await gateway.report(key, LARGE, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(await today(gateway, 'a')).toEqual({
      ...QUIET,
      requests: 5,
      hits: 4,
      misses: 1,
      upstreamCalls: 1,
      upstreamCallsSaved: 4,
      rows: 5 * rowCount,
      bytesOut: first.body.length + gzip.body.length + csv.body.length,
    });
    gateway.clock.advance(30 * DAY + 1000);
    expect((await gateway.report(key, LARGE)).headers['cache-status']).toContain('stale-while-revalidate');
    await gateway.services.settled();
    expect(await today(gateway, 'a')).toMatchObject({
      requests: 1,
      stale: 1,
      upstreamCalls: 0,
      upstreamCallsSaved: 1,
    });
    expect(await today(gateway, 'gateway')).toEqual({ ...QUIET, upstreamCalls: 1 });
  });

  it('counts each try of a platform call, and an old answer given because the platform fails', async () => {
    const { gateway, key } = await withTeam({ config: { platform: { retry: { baseMs: 1 } } } }, { id: 'a' });
    await gateway.report(key, FINAL);
    gateway.clock.advance(30 * DAY + HOUR);
    gateway.simulator.fault({ kind: 'status', status: 503, times: 3 });
    const old = await gateway.report(key, FINAL);
    expect(old.headers['cache-status']).toContain('stale-if-error');
    expect(await today(gateway, 'a')).toMatchObject({
      requests: 1,
      stale: 1,
      upstreamCalls: 3,
      upstreamCallsSaved: 0,
    });
  });

  it('counts refusals as errors, those for asking too much by themselves, and unknown callers not at all', async () => {
    const { gateway, key } = await withTeam(
      {},
      { id: 'a', advertisers: [1], limits: { requestsPerMinute: 3 } },
    );
    await gateway.call(`${REPORT}?advertiserId=1`, { key: 'dgw_nobody' });
    const refused = await gateway.report(key, 'advertiserId=2');
    const wrong = await gateway.report(key, 'advertiserId=x');
    const missing = await gateway.call('/api/v1/campaign/7', { key });
    const limited = await gateway.report(key, FINAL);
    expect([refused, wrong, missing, limited].map(({ status }) => status)).toEqual([403, 400, 403, 429]);
    expect(await today(gateway, 'a')).toEqual({
      ...QUIET,
      requests: 4,
      errors: 3,
      rateLimited: 1,
      bytesOut: [refused, wrong, missing, limited].reduce((sum, { body }) => sum + body.length, 0),
    });
    expect((await usageOf(gateway)).usage.map(({ team }) => team)).toEqual(['a']);
  });

  it('counts what is passed through, as far as it came', async () => {
    const large = Buffer.alloc(300_000, 'x');
    const platform = await startRawPlatform(sends(large, { 'content-type': 'text/plain' }));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ id: 'a' });
    await gateway.call('/api/v1/export', { key });
    expect(await today(gateway, 'a')).toEqual({ ...QUIET, requests: 1, upstreamCalls: 1, bytesOut: 300_000 });
    platform.answer((_request, response) => {
      response.writeHead(200, { 'content-length': '9000' });
      response.write('y'.repeat(5000), () => response.destroy());
    });
    await gateway.call('/api/v1/export', { key }).catch(() => {});
    platform.answer((_request, response) => void Readable.from(['ab', 'cd']).pipe(response));
    await gateway.call('/api/v1/export', { key });
    const { requests, bytesOut } = await today(gateway, 'a');
    expect([requests, bytesOut]).toEqual([3, 305_004]);
  });
});

describe('GET /admin/v1/usage', () => {
  it('shows days and teams in order, those of teams that are gone too', async () => {
    const gateway = await withGateway();
    const [a, b] = [await gateway.addTeam({ id: 'a' }), await gateway.addTeam({ id: 'b' })];
    await gateway.report(b, FINAL);
    await gateway.report(a, FINAL);
    gateway.clock.advance(DAY);
    await gateway.report(a, FINAL);
    await gateway.manage('DELETE', '/teams/a');
    const shown = await usageOf(gateway);
    expect([shown.from, shown.to]).toEqual(['2026-10-24', '2026-11-22']);
    expect(shown.usage.map(({ day, team, requests }) => [day, team, requests])).toEqual([
      ['2026-11-21', 'a', 1],
      ['2026-11-21', 'b', 1],
      ['2026-11-22', 'a', 1],
    ]);
    const one = await usageOf(gateway, '?from=2026-11-21&to=2026-11-21&team=b');
    expect(one.usage.map(({ day, team }) => [day, team])).toEqual([['2026-11-21', 'b']]);
  });

  it.each([
    ['?from=2026-02-30', 'from'],
    ['?from=2026-11-02&to=2026-11-01', 'to'],
    ['?from=2025-01-01&to=2026-11-01', 'to'],
  ])('%s is 400 and names %s', async (query, param) => {
    const gateway = await withGateway();
    await expect(gateway.manage('GET', `/usage${query}`)).rejects.toThrow(
      new RegExp(`answered 400.*"param":"${param}"`),
    );
  });
});

describe('GET /gateway/v1/me', () => {
  it("shows a team its own days, no other's, and does not count itself", async () => {
    const gateway = await withGateway();
    const [a, b] = [await gateway.addTeam({ id: 'a' }), await gateway.addTeam({ id: 'b' })];
    await gateway.report(a, FINAL);
    await gateway.report(b, FINAL);
    await gateway.report(b, FINAL);
    const shown = async (key: string) => {
      await gateway.services.tally.flush();
      const { usage } = (await gateway.call('/gateway/v1/me', { key })).json<{ usage: object[] }>();
      return usage;
    };
    expect(await shown(a)).toEqual([{ day: '2026-11-21', ...(await today(gateway, 'a')) }]);
    expect(await shown(b)).toMatchObject([{ day: '2026-11-21', requests: 2 }]);
    gateway.clock.advance(30 * DAY);
    expect(await shown(a)).toEqual([]);
  });
});
