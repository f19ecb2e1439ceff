/** What the platform does when told to: a switch or a fault that did nothing would make other tests prove nothing. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { patchSwitches, type Switches } from '../../src/simulator/switches.js';
import { createStandingClock, DAY } from '../support/test-clock.js';
import { call, REPORT, rowsOf, sendRaw, start } from './support.js';

const WEEK = '?advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

describe('the switch', () => {
  /** Each answer, of which the usual one has none of these. */
  const answers: [Partial<Switches>, RegExp, string?][] = [
    [{ shape: 'array' }, /\n\[\{"date"/],
    [{ shape: 'nested' }, /\n\{"status":"ok","result":\{"rows":\[/],
    [{ shape: 'totals' }, /\],"totals":\{"impressions":\d/],
    [{ shape: 'object' }, /\n\{"advertiser_id":1/, '?advertiserId=1'],
    [{ shape: 'paged' }, /"per_page":50/],
    [{ decimals: 'numbers' }, /"spent":\d/],
    [{ ids: 'strings' }, /"campaign_id":"101"/],
    [{ names: 'camel' }, /"campaignId":101/],
    [{ dates: 'datetime' }, /"2026-11-01 00:00:00"/],
    [{ dates: 'iso' }, /"2026-11-01T00:00:00.000000Z"/],
    [{ rowsAccount: false }, /"campaign_name":"[^"]*","currency"/],
    [{ accountNames: 'plain' }, /"advertiser_name":"Alpine /],
    [{ accountNames: 'hostile' }, /"advertiser_name":"[^,]*<img/],
    [{ rowOrder: 'date-descending' }, /\n\{"data":\[\{"date":"2026-11-07"/],
    [{ rowOrder: 'campaign' }, /\n\{"data":\[[^}]*"campaign_id":101[^}]*\},[^}]*"campaign_id":101/],
    [{ foreignRows: true }, /"advertiser_id":2/],
    [{ hugeNumbers: true }, /"serial":9007199254740993,"weight":1e400,"score":0.1234567890123456789/],
    [{ echoToken: true }, /"x-debug-token":.*"debug":/s],
    [{ absentDates: 422 }, /^422 /, '?advertiserId=1'],
    [{ foreignAdvertiser: 404 }, /^404 /, '?advertiserId=41'],
    [{ foreignAdvertiser: 'empty' }, /^200 .*"data":\[\]/s, '?advertiserId=41'],
    [{ retentionDays: 18, beyondRetention: 422 }, /^422 /],
    [{ cacheControl: 'no-store' }, /"cache-control":"no-store"/],
    [{ vary: '*' }, /"vary":"\*"/],
    [{ columnFrom: '2026-11-21T12:00:00Z' }, /"viewable_impressions":\d/],
    [{ renameFrom: '2026-11-21T12:00:00Z' }, /"campaign_name":"[^,]*\(new\)"/],
    [{ rateLimitPerMinute: 5 }, /"x-ratelimit-limit":"5"/],
  ];
  it.each(answers)('%j shows in the answer', async (patch, shown, query = WEEK) => {
    const simulator = await start();
    const text = async () => {
      const { status, headers, text } = await call(simulator, REPORT + query);
      return `${status} ${JSON.stringify(headers)}\n${text}`;
    };
    expect(await text()).not.toMatch(shown);
    simulator.set(patch);
    expect(await text()).toMatch(shown);
  });

  it.each<[Partial<Switches>, string[]]>([
    [{ emptyDays: ['2026-11-03'] }, ['01', '02', '04', '05', '06', '07']],
    [{ retentionDays: 18 }, ['03', '04', '05', '06', '07']],
    [{ rowCap: 2 }, ['01', '02']],
    [{ vanishingDays: ['2026-11-02'] }, ['01', '02', '03', '04', '05', '06', '07']],
  ])('%j leaves of seven days %j', async (switches, days) => {
    const simulator = await start({ switches });
    const rows = await rowsOf(simulator, WEEK.replace('&byCampaign=1', ''));
    expect(rows.map(({ date }) => String(date).slice(8))).toEqual(days);
  });

  it('vanishingDays takes a day away when it is two days old, and gives it back', async () => {
    const clock = createStandingClock('2026-11-04T23:59:59Z');
    const simulator = await start({ clock, switches: { vanishingDays: ['2026-11-03'] } });
    const has = async () => (await rowsOf(simulator, WEEK)).some(({ date }) => date === '2026-11-03');
    expect(await has()).toBe(true);
    clock.pass(1000);
    expect(await has()).toBe(false);
    clock.pass(DAY);
    expect(await has()).toBe(true);
  });

  it('divisible off makes a day’s numbers depend on the period asked for', async () => {
    const simulator = await start();
    const day = async (from: string) =>
      (await rowsOf(simulator, WEEK.replace('2026-11-01', from))).filter(({ date }) => date === '2026-11-05');
    expect(await day('2026-11-01')).toEqual(await day('2026-11-05'));
    simulator.set({ divisible: false });
    expect(await day('2026-11-01')).not.toEqual(await day('2026-11-05'));
  });

  it('contentEncoding packs the same body once, six times, or into a bomb', async () => {
    const simulator = await start();
    const ask = () => call(simulator, REPORT + WEEK, { headers: { 'accept-encoding': 'gzip' } });
    const { bytes } = await ask();
    simulator.set({ contentEncoding: 'gzip' });
    expect(gunzipSync((await ask()).bytes)).toEqual(bytes);
    simulator.set({ contentEncoding: 'chain' });
    const chained = await ask();
    expect(String(chained.headers['content-encoding']).split(', ')).toHaveLength(6);
    expect(Array.from({ length: 6 }).reduce<Buffer>((packed) => gunzipSync(packed), chained.bytes)).toEqual(
      bytes,
    );
    simulator.set({ contentEncoding: 'bomb' });
    expect(gunzipSync((await ask()).bytes).length).toBeGreaterThan(256 * 1024 * 1024);
  });

  it.each([
    [{ shape: 'xml' }, /^shape: is "xml"; allowed: "data", "array"/],
    [{ rowCap: -1 }, /^rowCap: is -1; allowed: a whole number from 0/],
    [{ constructor: 1 }, /^constructor: is not known/],
  ])('%j is refused', async (patch, message) => {
    expect(() => patchSwitches({} as Switches, patch)).toThrow(message);
  });
});

describe('a fault', () => {
  const statuses = async (simulator: Simulator, calls: number) => {
    const seen = [];
    for (let made = 0; made < calls; made++) seen.push((await call(simulator, REPORT)).status);
    return seen;
  };

  it('is played in order, as often as told, or until cleared', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', times: 2 });
    simulator.fault({ kind: 'status', status: 502 });
    expect(await statuses(simulator, 4)).toEqual([500, 500, 502, 200]);
    simulator.fault({ kind: 'status', times: 0 });
    expect(await statuses(simulator, 3)).toEqual([500, 500, 500]);
    simulator.clearFaults();
    expect(await statuses(simulator, 1)).toEqual([200]);
  });

  it('is played for its path, method and days alone', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', status: 501, path: '/creatives/' });
    simulator.fault({ kind: 'status', status: 502, method: 'POST' });
    simulator.fault({ kind: 'status', status: 503, from: '2026-11-07', to: '2026-11-08' });
    const before = WEEK.replace('11-07', '11-06');
    expect((await call(simulator, REPORT + before)).status).toBe(200);
    expect((await call(simulator, REPORT + WEEK)).status).toBe(503);
    expect((await call(simulator, REPORT, { method: 'POST', json: {} })).status).toBe(502);
    expect((await call(simulator, '/api/v1/report/creatives/get')).status).toBe(501);
  });

  it('garbage is no UTF-8 and no JSON; truncate sends half; reset nothing', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'garbage' });
    const { bytes, status } = await call(simulator, REPORT);
    expect(status).toBe(200);
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow(TypeError);
    for (const kind of ['truncate', 'reset'] as const) {
      simulator.fault({ kind });
      await expect(call(simulator, REPORT)).rejects.toThrow();
    }
  });

  it('of a lost call does not touch the platform; that of a lost answer does', async () => {
    const simulator = await start();
    const isThere = async () => (await call(simulator, '/api/v1/campaign/101')).status === 200;
    const remove = () => call(simulator, '/api/v1/campaign/101', { method: 'DELETE' });
    simulator.fault({ kind: 'reset', method: 'DELETE' });
    await expect(remove()).rejects.toThrow();
    expect(await isThere()).toBe(true);
    simulator.fault({ kind: 'truncate', method: 'DELETE' });
    await expect(remove()).rejects.toThrow();
    expect(await isThere()).toBe(false);
  });
});

describe('the controls', () => {
  it('understand the examples that they give, and call nothing a call of the platform', async () => {
    const simulator = await start();
    const overview = await call(simulator, '/_sim');
    const { help } = overview.json<{ help: { controls: Record<string, { curl: string }> } }>();
    for (const [name, { curl }] of Object.entries(help.controls)) {
      const [method = '', path = ''] = name.split(' ');
      const body = /-d '(\{.*\})'/.exec(curl)?.[1];
      const query = [...curl.matchAll(/-d (\w+=\S+)/g)].map(([, pair]) => pair).join('&');
      const json = body === undefined ? {} : { json: JSON.parse(body) as unknown };
      const answer = await call(simulator, path + (query && `?${query}`), {
        method: method as 'GET',
        ...json,
      });
      expect(`${name} ${answer.status}`).toMatch(/ 2\d\d$/);
    }
    expect(simulator.calls).toEqual([]);
  });
});

// What a gateway that forwards a smuggled spelling would really get: another advertiser's rows.
describe('a smuggled spelling', () => {
  it.each([
    '?advertiserId=1&advertiserId=2',
    '?advertiserId=1&advertiser.id=2',
    '?advertiserId=1&%61dvertiser_id=2',
    '?advertiserId=1&advertiser[id=2',
    '?advertiserId=1&%20advertiserId=2',
    '?advertiserId=1&advertiserId%00x=2',
    '?advertiserId=1&advertiserId[]=2',
    '?advertiserId=%202%20',
    '?advertiserId=2%00',
    '?advertiserId=%2B2',
  ])('in the query %s leaks advertiser 2', async (query) => {
    const answer = await sendRaw(await start(), `${REPORT}${query}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('"advertiser_id":2,');
    expect(answer).not.toContain('"advertiser_id":1,');
  });

  it('in a list leaks both, and an empty value all of them', async () => {
    const simulator = await start();
    const both = await rowsOf(simulator, '?advertiserId[]=1&advertiserId[]=2');
    expect(both.map((row) => row.advertiser_id)).toEqual([1, 2]);
    expect(await rowsOf(simulator, '?advertiserId=')).toHaveLength(40);
  });

  it('in the body of a GET wins over the query', async () => {
    const body = '{"advertiserId":2}';
    const headers = ['content-type: application/json', `content-length: ${body.length}`, '', body];
    const answer = await sendRaw(await start(), `${REPORT}?advertiserId=1`, headers);
    expect(answer).toContain('"advertiser_id":2,');
  });

  it.each([`/x/..${REPORT}`, `/${REPORT}`, '/api/v1/report/%63ampaigns/get', `${REPORT}/`, `/%2e${REPORT}`])(
    'in the path %s reaches the report',
    async (path) => {
      expect(await sendRaw(await start(), `${path}?advertiserId=2`)).toContain('"advertiser_id":2,');
    },
  );

  it.each([
    ['a query member', '?_method=DELETE', {}],
    ['a body member', '', { json: { _method: 'delete' } }],
    ['a header', '', { headers: { 'x-http-method-override': 'DELETE' } }],
  ])('of the method in %s deletes a campaign', async (_, query, sent) => {
    const simulator = await start();
    const path = '/api/v1/campaign/101';
    expect((await call(simulator, `${path}${query}`, { method: 'POST', ...sent })).status).toBe(200);
    expect((await call(simulator, path)).status).toBe(404);
  });
});
