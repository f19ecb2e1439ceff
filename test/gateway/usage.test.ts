/** Contract: what is counted of a team, and how it is shown to operators and to the team itself. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, REPORT, reportIn, type TestGateway, withGateway } from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

const FINAL = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';
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

interface Shown {
  readonly from: string;
  readonly to: string;
  readonly usage: readonly ({ readonly day: string; readonly team: string } & typeof QUIET)[];
}

async function usageOf(gateway: TestGateway, query = ''): Promise<Shown> {
  await gateway.services.usage.flush();
  return (await gateway.manage('GET', `/usage${query}`)) as unknown as Shown;
}

/** What was counted of one team today. */
async function today(gateway: TestGateway, team: string) {
  const { usage } = await usageOf(gateway, `?team=${team}`);
  const { day: _, team: __, ...counts } = usage.at(-1) ?? { day: '', team, ...QUIET };
  return counts;
}

describe('usage', () => {
  it('counts misses, hits and stale answers, their rows and bytes, and what they cost and saved', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'a' });
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

  it('counts totals as a second call, made or saved', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'a' });
    for (let at = 0; at < 2; at++) await gateway.report(key, `${FINAL}&_totals=1`);
    expect(await today(gateway, 'a')).toMatchObject({
      hits: 1,
      misses: 1,
      upstreamCalls: 2,
      upstreamCallsSaved: 2,
    });
  });

  it('counts each try of a platform call, and an old answer given because the platform fails', async () => {
    const gateway = await withGateway({ config: { platform: { retry: { baseMs: 1 } } } });
    const key = await gateway.addTeam({ id: 'a' });
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
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'a', advertisers: [1], limits: { requestsPerMinute: 3 } });
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

  it('counts the platform call of callers who want the same at once for the one that made it', async () => {
    const gateway = await withGateway({ switches: { latencyMs: 100 } });
    const keys = [await gateway.addTeam({ id: 'a' }), await gateway.addTeam({ id: 'b' })];
    await Promise.all(keys.map((key) => gateway.report(key, FINAL)));
    const [a, b] = [await today(gateway, 'a'), await today(gateway, 'b')];
    expect([a.misses, b.misses]).toEqual([1, 1]);
    expect([a.upstreamCalls + b.upstreamCalls, a.upstreamCallsSaved + b.upstreamCallsSaved]).toEqual([1, 1]);
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
    ['?to=yesterday', 'to'],
    ['?from=2026-11-02&to=2026-11-01', 'to'],
    ['?from=2025-01-01&to=2026-11-01', 'to'],
    ['?team=a&team=b', 'team'],
    ['?from=2026-11-01&from=2026-11-02', 'from'],
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
      await gateway.services.usage.flush();
      const { usage } = (await gateway.call('/gateway/v1/me', { key })).json<{ usage: object[] }>();
      return usage;
    };
    expect(await shown(a)).toEqual([{ day: '2026-11-21', ...(await today(gateway, 'a')) }]);
    expect(await shown(b)).toMatchObject([{ day: '2026-11-21', requests: 2 }]);
    gateway.clock.advance(30 * DAY);
    expect(await shown(a)).toEqual([]);
  });
});
