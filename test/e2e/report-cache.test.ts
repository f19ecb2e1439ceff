/** Contract, section 2: what the headers of a report say, and when it comes from the cache. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admin, ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { startGateway, tempFolder } from '../support/processes.js';
import { type Report, type ReportRig, startReportRig } from '../support/report-rig.js';

let rig: ReportRig;
beforeAll(async () => {
  rig = await startReportRig();
});
beforeEach(() => rig.reset());

describe('the headers of an answer', () => {
  it('tell how it was come by, how old it is and how long it lasts', async () => {
    const first = await rig.report(`${rig.week}&byDate=1`);
    expect(first.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
    const again = await rig.report(`${rig.week}&byDate=1`);
    const ttl = Number(
      /^dsp-gateway; hit; ttl=(\d+); detail=l1$/.exec(again.headers['cache-status'] ?? '')?.[1],
    );
    // A final day is fresh for 30 days.
    expect(ttl).toBeGreaterThan(30 * 86_400 - 60);
    expect(ttl).toBeLessThanOrEqual(30 * 86_400);
    const age = Number(again.headers.age);
    expect(age).toBeGreaterThanOrEqual(0);
    expect(again.headers['cache-control']).toBe(`private, max-age=${age + ttl}`);
    expect(again.headers.vary).toBe('accept, accept-encoding, authorization, x-api-key');
    expect(again.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(again.headers.etag).toMatch(/^"[^"]+"$/);
    expect(again.headers.etag).toBe(first.headers.etag);
    const ttlOf = async (query: string) =>
      Number(/max-age=(\d+)/.exec((await rig.report(query)).headers['cache-control'] ?? '')?.[1]);
    expect(await ttlOf('advertiserId=1&_period=today')).toBeLessThanOrEqual(300);
    // By its date: an answer to `_period=yesterday` lasts until midnight at the longest.
    const yesterday = daysBefore(new Date().toISOString().slice(0, 10), 1);
    const ttlOfYesterday = await ttlOf(`advertiserId=1&dateFrom=${yesterday}&dateTo=${yesterday}`);
    expect(ttlOfYesterday).toBeGreaterThan(300);
    expect(ttlOfYesterday).toBeLessThanOrEqual(3600);
  });

  it('hold no word of the platform’s cookies, server or token', async () => {
    for (const path of [
      `${REPORT}?${rig.week}`,
      '/api/v1/campaign/999999999',
      `${REPORT}?advertiserId=999999`,
    ]) {
      const { headers } = await ask(rig.gateway.data + path, { key: rig.key });
      const own = await ask(rig.platform.url + path, {
        bearer: rig.platform.token,
        headers: { accept: 'application/json' },
      });
      // The platform does send them.
      expect(own.headers).toMatchObject({ 'set-cookie': expect.anything(), server: expect.anything() });
      for (const name of ['set-cookie', 'server', 'www-authenticate', 'x-powered-by', 'x-ratelimit-limit']) {
        expect([path, name, headers[name]]).toEqual([path, name, undefined]);
      }
    }
  });

  it('answer conditional requests with 304, and HEAD without a body', async () => {
    const full = await rig.report(`${rig.week}&byDate=1`);
    const etag = full.headers.etag as string;
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await rig.report(`${rig.week}&byDate=1`, { headers: { 'if-none-match': tag } });
      expect([tag, answer.status, answer.text]).toEqual([tag, 304, '']);
      // A length here would have to be that of the 200 (RFC 9110, section 8.6).
      expect([undefined, String(full.bytes.length)]).toContain(answer.headers['content-length']);
      expect(answer.headers.etag).toBe(etag);
      expect(answer.headers['cache-status']).toMatch(/; hit; /);
    }
    expect(
      (await rig.report(`${rig.week}&byDate=1`, { headers: { 'if-none-match': '"other"' } })).status,
    ).toBe(200);
    const csv = await rig.report(`${rig.week}&byDate=1&_format=csv`, { headers: { 'if-none-match': etag } });
    expect(csv.status).toBe(200);
    const head = await rig.report(`${rig.week}&byDate=1`, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', etag]);
    expect(head.headers['content-length']).toBe(String(full.bytes.length));
  });

  it('agree on a content coding', async () => {
    const plain = await rig.report(`${rig.week}&byDate=1&byCampaign=1`);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const packed = await rig.report(`${rig.week}&byDate=1&byCampaign=1`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    const smaller = await rig.report(`${rig.week}&byDate=1&byCampaign=1`, {
      headers: { 'accept-encoding': 'gzip;q=0.5, br' },
    });
    expect(smaller.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(smaller.bytes).equals(plain.bytes)).toBe(true);
    expect(new Set([plain, packed, smaller].map(({ headers }) => headers.etag)).size).toBe(3);
    for (const odd of ['snappy', ';;;', 'identity;q=0', '*;q=0', 'gzip;q=banana']) {
      const answer = await rig.report(`${rig.week}&byDate=1&byCampaign=1`, {
        headers: { 'accept-encoding': odd },
      });
      expect([odd, answer.status]).toEqual([odd, 200]);
    }
    expect(await rig.sim.calls()).toHaveLength(1);
  });
});

describe('the cache', () => {
  it('knows a question by its meaning', async () => {
    const [from, to] = [daysBefore(rig.today, 20), daysBefore(rig.today, 14)];
    const spellings = [
      `advertiserId=1&byDate=1&campaignIds[]=101&campaignIds[]=102&dateFrom=${from}&dateTo=${to}`,
      `dateTo=${to}&dateFrom=${from}&campaignIds=102,101&byDate=true&advertiserId=1`,
      `%61dvertiserId=%31&byDate=1&campaignIds%5B%5D=102&campaignIds%5b%5d=101&campaignIds=101&dateFrom=${from}&dateTo=${to}&byCampaign=0`,
      `&advertiserId=1&&byDate=1&byCampaign=&campaignIds=101%2c102&dateFrom=${from}&dateTo=${to}&spentBased=`,
    ];
    const answers = await Promise.all(spellings.map((query) => rig.report(query)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const calls = await rig.sim.calls();
    expect(calls.map(({ url }) => url)).toEqual([
      `${REPORT}?advertiserId=1&byDate=1&campaignIds%5B%5D=101&campaignIds%5B%5D=102&dateFrom=${from}&dateTo=${to}`,
    ]);
  });

  it('lets one call answer many who ask at once', async () => {
    await rig.sim.set({ latencyMs: 150 });
    const answers = await Promise.all(Array.from({ length: 100 }, () => rig.report(rig.week)));
    await rig.sim.set({ latencyMs: 0 });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await rig.sim.calls()).toHaveLength(1);
  });

  it('is shared by teams, and asks who may see before it is looked into', async () => {
    const one = await newTeam(rig.gateway, { id: 'only-one', advertisers: [1] });
    const two = await newTeam(rig.gateway, { id: 'only-two', advertisers: [2] });
    expect((await rig.report(rig.week, { key: one.key })).headers['cache-status']).toMatch(/fwd=miss/);
    expect((await rig.report(rig.week)).headers['cache-status']).toMatch(/; hit; /);
    const refused = await rig.report(rig.week, { key: two.key });
    expect(refused.json()).toMatchObject({ code: 'advertiser_forbidden' });
    expect(refused.headers['cache-status']).toBeUndefined();
    expect(refused.headers['cache-control']).toBe('no-store');
    for (const query of ['advertiserId=1&userId=2', 'advertiserId=1&account_id=2', 'advertiserIds=2', '']) {
      const { status } = await rig.report(`${query}&_period=yesterday`, { key: one.key });
      expect([query, status]).toEqual([query, expect.toBeOneOf([400, 403])]);
    }
    expect(await rig.sim.calls()).toHaveLength(1);
    // This platform does not read `userId` here and answers for everybody: nobody who may not see it is shown that.
    const leak = await rig.report('userId=1&_period=yesterday', { key: one.key });
    expect(leak.json()).toMatchObject({ status: 502, code: 'upstream_invalid_response' });
    expect((await rig.report('userId=1&_period=yesterday')).status).toBe(200);
    expect((await rig.report('userId=1&_period=yesterday', { key: one.key })).status).toBe(502);
  });

  it('honours no-store of the platform and ignores its no-cache', async () => {
    await rig.sim.set({ cacheControl: 'no-store' });
    const first = await rig.report(rig.week);
    const second = await rig.report(rig.week);
    await rig.sim.set({ cacheControl: 'no-cache, private' });
    for (const { headers } of [first, second]) expect(headers['cache-status']).toBe('dsp-gateway; fwd=miss');
    expect(await rig.sim.calls()).toHaveLength(2);
    expect((await rig.report(rig.week)).headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
    expect((await rig.report(rig.week)).headers['cache-status']).toMatch(/; hit; /);
  });

  it('is asked past only by who may refresh', async () => {
    const plain = await newTeam(rig.gateway, { id: 'plain', scopes: ['report:read'] });
    await rig.report(rig.week);
    for (const wish of ['no-cache', 'max-age=0']) {
      const headers = { 'cache-control': wish };
      expect((await rig.report(rig.week, { headers })).headers['cache-status']).toBe(
        'dsp-gateway; fwd=request; stored',
      );
      const ignored = await rig.report(rig.week, { key: plain.key, headers });
      expect(ignored.headers['cache-status']).toMatch(/; hit; /);
    }
    const young = await rig.report(rig.week, { headers: { 'cache-control': 'max-age=3600' } });
    expect(young.headers['cache-status']).toMatch(/; hit; /);
    expect(await rig.sim.calls()).toHaveLength(3);
  });

  it('is purged by all, advertiser, endpoint and days', async () => {
    const cached = async (query: string) =>
      /; hit; /.test((await rig.report(query)).headers['cache-status'] ?? '');
    const [mine, other] = [rig.week, rig.week.replace('advertiserId=1', 'advertiserId=2')];
    const days = { from: daysBefore(rig.today, 16), to: daysBefore(rig.today, 15) };
    const scopes: [object, boolean, boolean][] = [
      [{ all: true }, false, false],
      [{ advertiserId: 1 }, false, true],
      [{ endpoint: 'campaigns/get' }, false, false],
      [{ endpoint: 'creatives/get' }, true, true],
      [{ advertiserId: 2, ...days }, true, false],
      [days, false, false],
      [{ from: daysBefore(rig.today, 3) }, true, true],
    ];
    for (const [scope, first, second] of scopes) {
      await rig.report(mine);
      await rig.report(other);
      const { purged } = await admin<{ purged: string }>(rig.gateway, 'POST', '/cache/purge', scope);
      expect(purged).toMatch(/\S/);
      expect([scope, await cached(mine), await cached(other)]).toEqual([scope, first, second]);
    }
  });

  it('remembers a refusal of the platform for a little while', async () => {
    const query = 'advertiserId=1&_period=yesterday&spentBased=gold';
    expect([(await rig.report(query)).status, (await rig.report(query)).status]).toEqual([422, 422]);
    expect(await rig.sim.calls()).toHaveLength(1);
    await rig.report('advertiserId=999999&_period=yesterday');
    await rig.report('advertiserId=999999&_period=yesterday');
    // A 403 is never remembered.
    expect(await rig.sim.calls()).toHaveLength(3);
  });
});

describe('an old answer', () => {
  it('is given at once while a new one is fetched behind, and helps when the platform fails', async () => {
    const yaml = join(await tempFolder(), 'gateway.yaml');
    await writeFile(yaml, 'report: { freshness: { finalSeconds: 0, staleWhileRevalidateSeconds: 600 } }\n');
    const impatient = join(await tempFolder(), 'gateway.yaml');
    await writeFile(
      impatient,
      'report: { freshness: { finalSeconds: 0, staleWhileRevalidateSeconds: 0 } }\n',
    );
    const [behind, ahead] = await Promise.all([
      startGateway({ ...rig.platform.env, GATEWAY_CONFIG: yaml }),
      startGateway({ ...rig.platform.env, GATEWAY_CONFIG: impatient }),
    ]);
    const url = `${REPORT}?${rig.week}`;
    const first = await newTeam(behind, { id: 'stale' });
    await ask(behind.data + url, { key: first.key });
    const stale = await ask(behind.data + url, { key: first.key });
    expect(stale.headers['cache-status']).toMatch(
      /^dsp-gateway; hit; ttl=-?\d+; detail=stale-while-revalidate$/,
    );
    expect(stale.json<Report>().meta.stale).toBe(true);
    expect(stale.headers['cache-control']).toBe(`private, max-age=${stale.headers.age}`);
    await expect.poll(async () => (await rig.sim.calls()).length).toBe(2);

    const second = await newTeam(ahead, { id: 'stale' });
    await ask(ahead.data + url, { key: second.key });
    for (const kind of ['html', 'reset', 'garbage', 'truncate']) {
      await rig.sim.fault({ kind, times: 3 });
      const helped = await ask(ahead.data + url, { key: second.key });
      await rig.sim.clearFaults();
      expect([kind, helped.status]).toEqual([kind, 200]);
      expect(helped.headers['cache-status']).toMatch(/^dsp-gateway; hit; ttl=-?\d+; detail=stale-if-error$/);
      expect(helped.json<Report>().meta.stale).toBe(true);
    }
    // Never for a refusal, and never after a purge.
    await rig.sim.fault({ kind: 'status', status: 403 });
    expect((await ask(ahead.data + url, { key: second.key })).status).toBe(403);
    await admin(ahead, 'POST', '/cache/purge', { all: true });
    await rig.sim.fault({ kind: 'status', status: 500 });
    expect((await ask(ahead.data + url, { key: second.key })).status).toBe(502);
  });
});
