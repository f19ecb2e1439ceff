import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { formatDay, momentAt } from '../../src/simulator/days.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { DEFAULT_SWITCHES, patchSwitches, SWITCHES, type Switches } from '../../src/simulator/switches.js';
import { createStandingClock, DAY, NOON } from '../support/test-clock.js';
import { call, REPORT, type Row, rowsOf, start } from './support.js';

const WEEK = '?advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const WHOLE = '?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';

const VIEWABLE = { viewable_impressions: expect.any(Number) as number };

async function bodyOf<T = Row>(simulator: Simulator, query: string): Promise<T> {
  return (await call(simulator, `${REPORT}${query}`)).json<T>();
}

async function askToken(simulator: Simulator, changes: Row = {}) {
  const { username, password, clientId, clientSecret } = simulator.account;
  const fields = {
    grant_type: 'platform_dsp',
    username,
    password,
    client_id: clientId,
    client_secret: clientSecret,
  };
  const json = { ...fields, ...changes };
  return call(simulator, simulator.switches.tokenPath, { method: 'POST', json });
}

/** One test for each switch, in one long table: its type makes a switch without a test an error. */
const TESTS: Record<keyof Switches, () => Promise<void>> = {
  async shape() {
    const simulator = await start();
    const days = await rowsOf(simulator, WEEK);
    const [whole] = await rowsOf(simulator, WHOLE);
    simulator.set({ shape: 'array' });
    expect(await bodyOf(simulator, WEEK)).toEqual(days);
    simulator.set({ shape: 'nested' });
    expect(await bodyOf(simulator, WEEK)).toEqual({ status: 'ok', result: { rows: days } });
    simulator.set({ shape: 'totals' });
    const { advertiser_id: _, currency: __, ...totals } = whole ?? {};
    expect(await bodyOf(simulator, WEEK)).toEqual({ data: days, totals });
    simulator.set({ shape: 'object' });
    expect(await bodyOf(simulator, WHOLE)).toEqual(whole);
    expect(await bodyOf(simulator, WEEK)).toEqual({ data: days });
    simulator.set({ shape: 'paged' });
    const path = simulator.url + REPORT;
    expect(await bodyOf(simulator, `${WEEK}&per_page=3&page=2`)).toEqual({
      data: days.slice(3, 6),
      links: {
        first: `${path}?page=1`,
        last: `${path}?page=3`,
        prev: `${path}?page=1`,
        next: `${path}?page=3`,
      },
      meta: { current_page: 2, from: 4, last_page: 3, path, per_page: 3, to: 6, total: 7 },
    });
    const long = await bodyOf<{ data: Row[] }>(
      simulator,
      '?advertiserId=1&byDate=1&dateFrom=2026-01-01&dateTo=2026-11-01',
    );
    expect(long.data).toHaveLength(50);
  },
  async decimals() {
    const simulator = await start();
    const [before] = await rowsOf(simulator, WEEK);
    simulator.set({ decimals: 'numbers' });
    const [after] = await rowsOf(simulator, WEEK);
    expect(after?.spent).toBe(Number(before?.spent));
    expect(before?.spent).toMatch(/\.\d{4}$/);
  },
  async ids() {
    const simulator = await start({ switches: { ids: 'strings' } });
    const [row] = await rowsOf(simulator, `${WEEK}&byCampaign=1`);
    expect(row).toMatchObject({ campaign_id: '101', advertiser_id: '1', impressions: expect.any(Number) });
  },
  async names() {
    const simulator = await start({ switches: { names: 'camel' } });
    const [row] = await rowsOf(simulator, `${WEEK}&byCampaign=1`);
    expect(row).toMatchObject({ campaignId: 101, campaignName: expect.any(String), advertiserId: 1 });
    const { text } = await call(simulator, `/api/v1/report/export/get${WEEK}`);
    expect(text).toMatch(/^date,advertiserId,/);
  },
  async dates() {
    const simulator = await start();
    const first = async () => (await rowsOf(simulator, WEEK))[0]?.date;
    expect(await first()).toBe('2026-11-01');
    simulator.set({ dates: 'datetime' });
    expect(await first()).toBe('2026-11-01 00:00:00');
    simulator.set({ dates: 'iso' });
    expect(await first()).toBe('2026-11-01T00:00:00.000000Z');
  },
  async rowsAccount() {
    const simulator = await start({ switches: { rowsAccount: false } });
    expect((await rowsOf(simulator, WEEK))[0]).not.toHaveProperty('advertiser_id');
    expect((await call(simulator, `/api/v1/report/export/get${WEEK}`)).text).toMatch(/^date,currency,/);
  },
  async accountNames() {
    const simulator = await start();
    const first = async () => (await rowsOf(simulator, WEEK))[0]?.advertiser_name;
    expect(await first()).toBeUndefined();
    simulator.set({ accountNames: 'plain' });
    expect(await first()).toMatch(/^Alpine [A-Z][a-z]+$/);
    const csv = (await call(simulator, `/api/v1/report/export/get${WEEK}`)).text;
    expect(csv).toMatch(/^date,advertiser_id,advertiser_name,currency,/);
    simulator.set({ accountNames: 'hostile' });
    expect(await first()).toContain('<img');
  },
  async rowOrder() {
    const simulator = await start();
    const query = `${WEEK}&byCampaign=1`;
    const byDate = await rowsOf(simulator, query);
    const keys = (rows: Row[], member: string) => rows.map((row) => row[member]);
    simulator.set({ rowOrder: 'date-descending' });
    const descending = await rowsOf(simulator, query);
    expect(keys(descending, 'date')).toEqual(keys(byDate, 'date').toReversed());
    simulator.set({ rowOrder: 'campaign' });
    const byCampaign = await rowsOf(simulator, query);
    expect(keys(byCampaign, 'campaign_id')).toEqual(keys(byDate, 'campaign_id').toSorted());
    expect(keys(byCampaign, 'campaign_id')).not.toEqual(keys(byDate, 'campaign_id'));
  },
  async foreignRows() {
    const simulator = await start({ switches: { foreignRows: true } });
    const accounts = async (query: string) =>
      (await rowsOf(simulator, query)).map((row) => row.advertiser_id);
    expect(await accounts(WEEK)).toEqual([1, 2, 1, 1, 1, 1, 1, 1]);
    expect(await accounts('')).toContain(41);
  },
  async rowCap() {
    const simulator = await start();
    const rows = await rowsOf(simulator, WEEK);
    simulator.set({ rowCap: 3 });
    expect(await rowsOf(simulator, WEEK)).toEqual(rows.slice(0, 3));
    simulator.set({ rowCap: 7 });
    expect(await rowsOf(simulator, WEEK)).toEqual(rows);
  },
  async hugeNumbers() {
    const simulator = await start({ switches: { hugeNumbers: true } });
    const { text } = await call(simulator, `${REPORT}${WEEK}`);
    for (const member of ['"serial":9007199254740993', '"weight":1e400', '"score":0.1234567890123456789']) {
      expect(text.split(member)).toHaveLength(8);
    }
  },
  async echoToken() {
    const simulator = await start({ switches: { echoToken: true } });
    const good = await call(simulator, `${REPORT}${WEEK}`);
    expect(good.headers['x-debug-token']).toBe(simulator.token);
    expect(good.json<{ data: Row[] }>().data[0]?.debug).toBe(simulator.token);
    const bad = await call(simulator, `${REPORT}?dateFrom=x`);
    expect(bad.json()).toMatchObject({ message: expect.stringContaining(simulator.token) });
    expect((await call(simulator, `/api/v1/report/export/get${WEEK}`)).text).toContain(simulator.token);
    simulator.set({ echoToken: false });
    const silent = await call(simulator, `${REPORT}${WEEK}`);
    expect(JSON.stringify([silent.headers, silent.text])).not.toContain(simulator.token);
  },
  async restateDays() {
    const clock = createStandingClock();
    const simulator = await start({ clock, switches: { restateDays: 1 } });
    const on = async (date: string) =>
      rowsOf(simulator, `?advertiserId=1&byDate=1&dateFrom=${date}&dateTo=${date}`);
    const before = [await on('2026-11-20'), await on('2026-11-19')];
    clock.pass(DAY);
    expect(await on('2026-11-20')).not.toEqual(before[0]);
    expect(await on('2026-11-19')).toEqual(before[1]);
  },
  async timezone() {
    const clock = createStandingClock('2026-11-21T03:00:00Z');
    const simulator = await start({ clock, switches: { timezone: 'America/New_York' } });
    const last = async () => (await rowsOf(simulator, '?advertiserId=1&byDate=1')).at(-1)?.date;
    expect(simulator.today).toBe('2026-11-20');
    expect(await last()).toBe('2026-11-20');
    simulator.set({ timezone: 'UTC' });
    expect(await last()).toBe('2026-11-21');
  },
  async divisible() {
    const simulator = await start();
    const on = async (query: string) =>
      (await rowsOf(simulator, `?advertiserId=1&byDate=1&${query}`)).find(
        ({ date }) => date === '2026-11-05',
      );
    const week = 'dateFrom=2026-11-01&dateTo=2026-11-07';
    const day = 'dateFrom=2026-11-05&dateTo=2026-11-05';
    expect(await on(week)).toEqual(await on(day));
    simulator.set({ divisible: false });
    expect(await on(week)).not.toEqual(await on(day));
    expect(await on(week)).toEqual(await on(week));
  },
  async emptyDays() {
    const simulator = await start({ switches: { emptyDays: ['2026-11-03'] } });
    const dates = (await rowsOf(simulator, WEEK)).map(({ date }) => String(date).slice(8));
    expect(dates).toEqual(['01', '02', '04', '05', '06', '07']);
    const sum = (rows: Row[]) => rows.reduce((total, row) => total + Number(row.impressions), 0);
    expect(sum(await rowsOf(simulator, WHOLE))).toBe(sum(await rowsOf(simulator, WEEK)));
  },
  async completion() {
    const clock = createStandingClock('2026-09-29T12:00:00Z');
    const simulator = await start({ clock, switches: { completion: 'curves' } });
    const on = () => rowsOf(simulator, '?byDate=1&byCampaign=1&dateFrom=2026-09-02&dateTo=2026-09-02');
    const accounts = (rows: Row[]) => new Set(rows.map((row) => row.advertiser_id));
    const before = await on();
    clock.pass(DAY);
    const after = await on();
    const changed = after.filter((row, index) => row.impressions !== before[index]?.impressions);
    expect(accounts(changed).size).toBeGreaterThan(0);
    expect(accounts(changed).size).toBeLessThan(0.2 * accounts(after).size);
    clock.pass(DAY);
    expect(await on()).toEqual(after);
    simulator.set({ completion: 'linear' });
    expect(await on()).toEqual(after);
  },
  async lateRows() {
    const simulator = await start();
    const all = await rowsOf(simulator, '?byDate=1&byCampaign=1');
    simulator.set({ lateRows: 50 });
    const shown = await rowsOf(simulator, '?byDate=1&byCampaign=1');
    expect(shown.length).toBeLessThan(all.length);
    expect(all).toEqual(expect.arrayContaining(shown));
    const sum = (rows: Row[]) => rows.reduce((total, row) => total + Number(row.impressions), 0);
    expect(sum(await rowsOf(simulator, ''))).toBe(sum(shown));
  },
  async vanishingDays() {
    const clock = createStandingClock('2026-11-04T23:59:59Z');
    const simulator = await start({ clock, switches: { vanishingDays: ['2026-11-03'] } });
    const dates = async () => (await rowsOf(simulator, WEEK)).map(({ date }) => String(date).slice(8));
    expect(await dates()).toEqual(['01', '02', '03', '04']);
    clock.pass(1000);
    expect(await dates()).toEqual(['01', '02', '04', '05']);
    const sum = (rows: Row[]) => rows.reduce((total, row) => total + Number(row.impressions), 0);
    expect(sum(await rowsOf(simulator, WHOLE))).toBe(sum(await rowsOf(simulator, WEEK)));
    clock.pass(DAY);
    expect(await dates()).toEqual(['01', '02', '03', '04', '05', '06']);
  },
  async columnFrom() {
    const simulator = await start({ switches: { columnFrom: '2026-11-21T12:00:01Z' } });
    const clockAt = (offsetMs: number) => simulator.setOffset(offsetMs);
    expect(await rowsOf(simulator, WEEK)).not.toContainEqual(expect.objectContaining(VIEWABLE));
    const export0 = await call(simulator, `/api/v1/report/export/get${WEEK}`);
    clockAt(1000);
    const rows = await rowsOf(simulator, WEEK);
    expect(rows).toEqual(rows.map((row) => expect.objectContaining({ ...row, ...VIEWABLE })));
    expect((await rowsOf(simulator, WHOLE))[0]).toMatchObject(VIEWABLE);
    const { text } = await call(simulator, `/api/v1/report/export/get${WEEK}`);
    const [header, first] = text.split('\r\n');
    expect([header, first?.split(',').length]).toEqual([
      `${export0.text.split('\r\n')[0]},viewable_impressions`,
      header?.split(',').length,
    ]);
  },
  async renameFrom() {
    const simulator = await start({ switches: { renameFrom: '2026-11-21T12:00:01Z' } });
    const names = async () => {
      const rows = await rowsOf(simulator, `${WEEK}&byCampaign=1`);
      return new Map(rows.map((row) => [row.campaign_id, row.campaign_name]));
    };
    const before = await names();
    expect(before.size).toBeGreaterThan(1);
    simulator.setOffset(1000);
    expect(await names()).toEqual(new Map(before).set(101, `${String(before.get(101))} (new)`));
  },
  async retentionDays() {
    const simulator = await start();
    const days = await rowsOf(simulator, WEEK);
    simulator.set({ retentionDays: 18 });
    expect(await rowsOf(simulator, WEEK)).toEqual(days.filter(({ date }) => String(date) >= '2026-11-03'));
  },
  async beyondRetention() {
    const simulator = await start({ switches: { retentionDays: 18 } });
    for (const status of [400, 422] as const) {
      simulator.set({ beyondRetention: status });
      expect((await call(simulator, REPORT + WEEK)).status).toBe(status);
      expect((await call(simulator, REPORT + WEEK.replace('2026-11-01', '2026-11-03'))).status).toBe(200);
    }
  },
  async absentDates() {
    const simulator = await start({ switches: { absentDates: 422 } });
    const reply = await call(simulator, `${REPORT}?advertiserId=1`);
    expect(reply.status).toBe(422);
    expect(reply.json()).toHaveProperty('errors.dateTo', ['The dateTo field is required.']);
    expect((await call(simulator, `${REPORT}${WEEK}`)).status).toBe(200);
  },
  async foreignAdvertiser() {
    const simulator = await start();
    const path = `${REPORT}?advertiserId=41`;
    for (const status of [403, 404, 422] as const) {
      simulator.set({ foreignAdvertiser: status });
      const reply = await call(simulator, path);
      expect(reply.status).toBe(status);
      expect(reply.json()).toHaveProperty('message');
      expect((await call(simulator, `${REPORT}?advertiserId[]=1&advertiserId[]=41`)).status).toBe(status);
    }
    simulator.set({ foreignAdvertiser: 'empty' });
    expect(await rowsOf(simulator, '?advertiserId=41')).toEqual([]);
  },
  async unauthenticated() {
    const simulator = await start();
    const ask = (accept: string) =>
      call(simulator, REPORT, { headers: { authorization: 'Bearer wrong', accept } });
    const [json, browser] = ['application/json', 'text/html, application/json'];
    expect((await ask(json)).json()).toEqual({ message: 'Unauthenticated.' });
    expect((await ask(json)).status).toBe(401);
    expect(await ask(browser)).toMatchObject({
      status: 302,
      headers: { location: `${simulator.url}/login` },
    });
    expect((await call(simulator, '/login')).text).toContain('<h1>Log in</h1>');
    simulator.set({ unauthenticated: 'redirect' });
    expect((await ask(json)).status).toBe(302);
    simulator.set({ unauthenticated: 'json' });
    expect((await ask(browser)).status).toBe(401);
    simulator.set({ unauthenticated: 'html' });
    const html = await ask(json);
    expect(html.status).toBe(401);
    expect(html.headers['content-type']).toBe('text/html; charset=UTF-8');
  },
  async tokenPath() {
    const simulator = await start({ switches: { tokenPath: '/api/v1/auth/token' } });
    expect((await askToken(simulator)).status).toBe(200);
    expect((await call(simulator, '/oauth/token', { method: 'POST' })).status).toBe(404);
  },
  async tokenAnswer() {
    const simulator = await start();
    const answers = async () => (await askToken(simulator)).json();
    expect(await answers()).toEqual({
      token_type: 'Bearer',
      expires_in: 31_536_000,
      access_token: expect.any(String),
      refresh_token: expect.any(String),
    });
    simulator.set({ tokenAnswer: 'token' });
    expect(await answers()).toEqual({
      token_type: 'Bearer',
      expires_in: 31_536_000,
      token: expect.any(String),
    });
    simulator.set({ tokenAnswer: 'no-expiry' });
    expect(await answers()).not.toHaveProperty('expires_in');
    expect(await answers()).toHaveProperty('access_token');
    simulator.set({ tokenAnswer: 'nonsense' });
    expect(await answers()).toEqual({ status: 'ok', result: [] });
  },
  async tokenTtlSeconds() {
    const clock = createStandingClock();
    const simulator = await start({ clock, switches: { tokenTtlSeconds: 60 } });
    expect((await askToken(simulator)).json()).toMatchObject({ expires_in: 60 });
    clock.pass(59_999);
    expect((await call(simulator, REPORT)).status).toBe(200);
    clock.pass(1);
    expect((await call(simulator, REPORT)).status).toBe(401);
  },
  async clientId() {
    const simulator = await start();
    const { clientId } = simulator.account;
    const statuses = async () => [
      (await askToken(simulator, { client_id: clientId })).status,
      (await askToken(simulator, { client_id: String(clientId) })).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    simulator.set({ clientId: 'number' });
    expect(await statuses()).toEqual([200, 422]);
    simulator.set({ clientId: 'string' });
    expect(await statuses()).toEqual([422, 200]);
  },
  async rateLimitPerMinute() {
    const simulator = await start({ switches: { rateLimitPerMinute: 2 } });
    const statuses = [];
    for (let made = 0; made < 3; made++) statuses.push((await call(simulator, REPORT)).status);
    expect(statuses).toEqual([200, 200, 429]);
    simulator.set({ rateLimitPerMinute: 0 });
    const free = await call(simulator, REPORT);
    expect(free.status).toBe(200);
    expect(free.headers).not.toHaveProperty('x-ratelimit-limit');
  },
  async latencyMs() {
    const simulator = await start({ switches: { latencyMs: 120 } });
    const began = performance.now();
    await call(simulator, REPORT);
    expect(performance.now() - began).toBeGreaterThanOrEqual(118);
  },
  async contentEncoding() {
    const simulator = await start({ switches: { contentEncoding: 'gzip' } });
    const ask = async (acceptEncoding: string) => {
      const headers = { authorization: `Bearer ${simulator.token}`, 'accept-encoding': acceptEncoding };
      const { headers: answered, body } = await request(`${simulator.url}${REPORT}${WEEK}`, { headers });
      return { encoding: answered['content-encoding'], bytes: Buffer.from(await body.arrayBuffer()) };
    };
    const plain = await ask('identity');
    expect(plain.encoding).toBeUndefined();
    expect((await ask('gzip;q=0, br')).encoding).toBeUndefined();
    const gzipped = await ask('br, gzip;q=0.5');
    expect(gzipped.encoding).toBe('gzip');
    expect(gunzipSync(gzipped.bytes)).toEqual(plain.bytes);
    simulator.set({ contentEncoding: 'chain' });
    const chained = await ask('identity');
    const layers = String(chained.encoding).split(', ');
    expect(layers).toEqual(Array.from({ length: 6 }, () => 'gzip'));
    expect(layers.reduce((bytes) => gunzipSync(bytes), chained.bytes)).toEqual(plain.bytes);
    simulator.set({ contentEncoding: 'bomb' });
    const bomb = await ask('identity');
    expect(bomb.bytes.length).toBeLessThan(512 * 1024);
    expect(gunzipSync(bomb.bytes).length).toBeGreaterThan(256 * 1024 * 1024);
  },
  async cacheControl() {
    const simulator = await start({ switches: { cacheControl: 'no-store' } });
    expect((await call(simulator, REPORT)).headers['cache-control']).toBe('no-store');
    simulator.set({ cacheControl: '' });
    expect((await call(simulator, REPORT)).headers).not.toHaveProperty('cache-control');
  },
  async vary() {
    const simulator = await start({ switches: { vary: '*' } });
    expect((await call(simulator, REPORT)).headers.vary).toBe('*');
    simulator.set({ vary: '' });
    expect((await call(simulator, REPORT)).headers).not.toHaveProperty('vary');
  },
};

describe('the switch', () => {
  it.each(Object.entries(TESTS))('%s does what it says', (_, test) => test());

  it.each(Object.entries(SWITCHES))('%s explains itself and accepts its default', (name, definition) => {
    expect(definition.about.length).toBeGreaterThan(10);
    expect(definition.allowed).not.toBe('');
    expect(definition.accepts(definition.default)).toBe(true);
    expect(DEFAULT_SWITCHES).toHaveProperty(name, definition.default);
  });

  it.each([
    [{ shape: 'xml' }, /^shape: is "xml"; allowed: "data", "array"/],
    [{ timezone: 'Mars/Olympus' }, /^timezone: .*IANA/],
    [{ emptyDays: ['2026-02-30'] }, /^emptyDays: .*YYYY-MM-DD/],
    [{ vanishingDays: '2026-11-03' }, /^vanishingDays: .*YYYY-MM-DD/],
    [{ completion: 'quick' }, /^completion: .*"linear", "curves"/],
    [{ lateRows: 101 }, /^lateRows: .*100/],
    [{ columnFrom: 'soon' }, /^columnFrom: .*instant/],
    [{ renameFrom: '2026-11-05' }, /^renameFrom: .*instant/],
    [{ renameFrom: '2026-13-05T00:00:00Z' }, /^renameFrom/],
    [{ rowCap: -1 }, /^rowCap: is -1; allowed: a whole number from 0/],
    [{ rowCap: 1.5 }, /^rowCap/],
    [{ foreignAdvertiser: '403' }, /^foreignAdvertiser/],
    [{ cacheControl: 'a\r\nb: c' }, /^cacheControl/],
    [{ colour: 'red' }, /^colour: is not known; allowed: shape, decimals/],
    [{ constructor: 1 }, /^constructor: is not known/],
    [{ rowCap: 'x', latencyMs: null }, /^rowCap: .*\nlatencyMs: is null/],
    [[], /an object of shape/],
  ])('patch %j is refused whole', (patch, message) => {
    expect(() => patchSwitches(DEFAULT_SWITCHES, patch)).toThrow(message);
  });

  it('changes through `set` alone', async () => {
    const simulator = await start();
    expect(() => Object.assign(simulator.switches, { shape: 'array' })).toThrow(TypeError);
    expect(() => Object.assign(DEFAULT_SWITCHES, { shape: 'array' })).toThrow(TypeError);
    simulator.set({ shape: 'nested' });
    expect(() => Object.assign(simulator.switches, { shape: 'array' })).toThrow(TypeError);
  });

  it('defaults are the likely answers', () => {
    expect(DEFAULT_SWITCHES).toMatchObject({
      shape: 'data',
      decimals: 'strings',
      rateLimitPerMinute: 60,
      restateDays: 5,
      completion: 'linear',
      tokenPath: '/oauth/token',
      tokenTtlSeconds: 365 * 24 * 3600,
      timezone: 'UTC',
    });
    expect(formatDay(momentAt(NOON, DEFAULT_SWITCHES.timezone).today)).toBe('2026-11-21');
  });
});
