/** Content codings and conditional requests on a real connection, where a client tidies nothing. */
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { exchange, head } from '../support/raw-socket.js';
import { rule } from '../support/scene.js';
import { gatewayAt, outcomeOf, REPORT, reportIn, withGateway, withTeam } from '../support/start-gateway.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

const BY_DATE = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

describe('the rows', () => {
  it('come as a table with a name to save it under, whatever the account is called', async () => {
    const { gateway, key } = await withTeam();
    const nameOf = async (query: string) => (await gateway.report(key, query)).headers['content-disposition'];
    expect(await nameOf(`${BY_DATE}&_format=csv`)).toBe(
      'attachment; filename="campaigns_1_2026-11-01_2026-11-07.csv"',
    );
    // From memory, too; and no other form is taken for a download.
    expect(await nameOf(`${BY_DATE}&_format=csv`)).toContain('campaigns_1_');
    expect(await nameOf(BY_DATE)).toBeUndefined();
  });

  it('come in the format the caller accepts, the query asks for, or the team has', async () => {
    const gateway = await withGateway();
    const [json, csv] = [await gateway.addTeam(), await gateway.addTeam({ defaultFormat: 'csv' })];
    const typeOf = async (key: string, accept?: string, format = '') =>
      (await gateway.report(key, FINAL + format, accept === undefined ? {} : { headers: { accept } }))
        .headers['content-type'];
    expect(await typeOf(json)).toBe('application/json; charset=utf-8');
    expect(await typeOf(csv)).toBe('text/csv; charset=utf-8; header=present');
    expect(await typeOf(csv, '*/*')).toBe('text/csv; charset=utf-8; header=present');
    expect(await typeOf(csv, 'application/json')).toBe('application/json; charset=utf-8');
    expect(await typeOf(json, 'application/x-ndjson')).toBe('application/x-ndjson; charset=utf-8');
    expect(await typeOf(json, 'text/csv', '&_format=ndjson')).toBe('application/x-ndjson; charset=utf-8');
  });

  it('bring the true totals and the age of each day when asked to', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const { data, meta } = reportIn(await gateway.report(key, `${BY_DATE}&_totals=1&_days=1`));
    const [total] = gateway.simulator.truth({
      advertiserId: 1,
      dateFrom: '2026-11-01',
      dateTo: '2026-11-07',
    });
    expect(meta.totals).toEqual(total);
    expect(data.reduce((sum, row) => sum + Number(row.reach), 0)).toBeGreaterThan(Number(total?.reach));
    expect(meta.days?.map(({ date }) => date)).toEqual(
      ['01', '02', '03', '04', '05', '06', '07'].map((day) => `2026-11-${day}`),
    );
    expect(gateway.simulator.callCount).toBe(2);
  });
});

describe('raw', () => {
  it('is the platform’s own bytes, status and content type', async () => {
    const body = ' {"data" : [ {"a_b":"1.50"} ],\n"x":"\\u00e4"}';
    const headers = {
      'content-type': 'application/json; charset=UTF-8',
      'x-powered-by': 'PHP',
      'set-cookie': 'a=b',
      server: 'nginx',
    };
    const platform = await startRawPlatform(sends(body, headers, 203));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ defaultFormat: 'raw' });
    const reply = await gateway.report(key, FINAL);
    expect([reply.status, reply.text, reply.headers['content-type']]).toEqual([
      203,
      body,
      'application/json; charset=UTF-8',
    ]);
    for (const name of ['x-powered-by', 'set-cookie', 'server']) expect(reply.headers[name]).toBeUndefined();
    platform.answer(sends('{"message":"no such thing"}', {}, 404));
    const refused = await gateway.report(key, RESTATING);
    expect([refused.status, refused.text, refused.headers['content-type']]).toEqual([
      404,
      '{"message":"no such thing"}',
      'application/json',
    ]);
    expect(outcomeOf(await gateway.report(key, `${RESTATING}&_format=json`))).toBe('404 upstream_rejected');
  });

  it('of an answer that is not JSON is all there is to give, in whatever format is asked for', async () => {
    const { gateway, key } = await withTeam();
    const path = '/api/v1/report/export/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    const first = await gateway.call(path, { key });
    expect([first.status, first.headers['content-type']]).toEqual([200, 'text/csv; charset=UTF-8']);
    const second = await gateway.call(`${path}&_format=raw`, { key });
    expect(second.body.equals(first.body)).toBe(true);
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('is given where rows cannot be told, and not kept; other formats are an error, and are asked for anew', async () => {
    const platform = await startRawPlatform(sends('{"one":[{"a":1}],"two":[{"a":2}]}'));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_invalid_response');
    expect((await gateway.report(key, `${FINAL}&_format=raw`)).text).toBe(
      '{"one":[{"a":1}],"two":[{"a":2}]}',
    );
    expect(platform.requests).toHaveLength(2);
    platform.answer(sends('{"data":[{"a":1}]}'));
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
  });

  it.each([
    ['as it is', (token: string) => JSON.stringify({ data: [{ debug: `x${token}x` }] })],
    ['in the name of a member', (token: string) => JSON.stringify({ data: [{ [token]: 1 }] })],
    ['in escapes beside the rows', (token: string) => `{"data":[],"debug":"${escaped(token)}"}`],
    [
      'with escaped slashes, as PHP writes them',
      (token: string) => JSON.stringify({ data: [], debug: token }).replaceAll('/', '\\/'),
    ],
  ])('that holds the token %s is refused in every format, and not kept', async (_where, bodyFor) => {
    const platform = await startRawPlatform((request, response) =>
      sends(bodyFor(platform.token))(request, response),
    );
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    for (const format of ['raw', 'json', 'csv', 'ndjson']) {
      const reply = await gateway.report(key, `${FINAL}&_format=${format}`);
      expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
      expect(reply.text).not.toContain(platform.token);
    }
    expect(platform.requests).toHaveLength(4);
    expect(gateway.logText).not.toContain(JSON.stringify(platform.token).slice(1, -1));
  });

  it('holds no token in its content type or in a refusal either', async () => {
    const platform = await startRawPlatform((request, response) =>
      sends('{}', { 'content-type': `application/json; x=${platform.token}` })(request, response),
    );
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, `${FINAL}&_format=raw`))).toBe(
      '502 upstream_invalid_response',
    );
    platform.answer(sends(`{"message":"bad token ${escaped(platform.token)}"}`, {}, 422));
    expect(outcomeOf(await gateway.report(key, `${FINAL}&_format=raw`))).toBe(
      '502 upstream_invalid_response',
    );
    const shown = await gateway.report(key, FINAL);
    expect(outcomeOf(shown)).toBe('422 upstream_rejected');
    expect(shown.json<{ upstream: { message: string } }>().upstream.message).toBe('bad token [redacted]');
  });
});

/** Every character as an escape. */
function escaped(text: string): string {
  return [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}

describe('compression', () => {
  it('gives the same body in every coding, with a tag of its own', async () => {
    const { gateway, key } = await withTeam({ config: rule({ divisible: 'never' }) });
    const query = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-11-10';
    const plain = await gateway.report(key, query);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const tags = new Set([plain.headers.etag]);
    for (const [coding, decode] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      for (const turn of ['made', 'from memory']) {
        const reply = await gateway.report(key, query, { headers: { 'accept-encoding': coding } });
        expect(reply.headers['content-encoding'], turn).toBe(coding);
        expect(decode(reply.body).equals(plain.body), turn).toBe(true);
        expect(reply.headers['content-length']).toBe(String(reply.body.length));
        expect(reply.body.length).toBeLessThan(plain.body.length / 2);
        tags.add(reply.headers.etag);
      }
    }
    expect(tags.size).toBe(3);
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('gives a valid body whatever is accepted, and asks the platform once', async () => {
    const { gateway, key } = await withTeam();
    const plain = await gateway.report(key, BY_DATE);
    for (const accepted of [
      'identity',
      'deflate',
      'gzip;q=0',
      'identity;q=0',
      '*;q=0',
      ',;;=',
      'x'.repeat(500),
    ]) {
      const reply = await gateway.report(key, BY_DATE, { headers: { 'accept-encoding': accepted } });
      expect([reply.status, reply.headers['content-encoding'], reply.text === plain.text], accepted).toEqual([
        200,
        undefined,
        true,
      ]);
    }
    expect(gateway.simulator.callCount).toBe(1);
  });
});

describe('what is sent to the platform', () => {
  it('is built from the question, with nothing of the caller’s', async () => {
    const { gateway, key } = await withTeam();
    await gateway.call(
      `${REPORT}?dateTo=2026-11-02&%62yDate=true&dateFrom=2026-11-01&advertiserId=1&_format=csv&_days=0`,
      {
        key,
        headers: {
          cookie: 'a=b',
          'x-forwarded-for': '1.2.3.4',
          forwarded: 'for=1.2.3.4',
          'x-request-id': 'mine',
          accept: '*/*',
          'x-http-method-override': 'DELETE',
          'user-agent': 'me',
          referer: 'x',
          range: 'bytes=0-1',
          'if-none-match': '"x"',
          te: 'trailers',
        },
      },
    );
    const [call] = gateway.simulator.calls;
    expect(call?.url).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-02',
    );
    const { host, 'x-request-id': id, ...headers } = call?.headers ?? {};
    expect(headers).toEqual({
      accept: 'application/json',
      'accept-encoding': 'gzip',
      authorization: `Bearer ${gateway.simulator.token}`,
      connection: 'keep-alive',
      'user-agent': expect.stringMatching(/^dsp-gateway\/\d/),
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(host).toBe(new URL(gateway.simulator.url).host);
  });
});

const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=yesterday`;

async function open() {
  const gateway = await withGateway({ config: { cache: { compressMinBytes: 0 } } });
  const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
  const ask = async (method: string, headers: readonly string[]) => {
    const text = await exchange(
      url,
      head(`${method} ${QUERY} HTTP/1.1`, ['host: a', `x-api-key: ${key}`, 'connection: close', ...headers]),
    );
    const top = text.slice(0, text.indexOf('\r\n\r\n'));
    return {
      status: Number(/ (\d+) /.exec(top)?.[1]),
      head: top,
      etag: /^etag: (.*)$/im.exec(top)?.[1] ?? '',
      coding: /^content-encoding: (.*)$/im.exec(top)?.[1],
      body: text.slice(top.length + 4),
    };
  };
  return { gateway, ask };
}

describe('a 304', () => {
  it('has no length of a body, whether it was asked for by GET or HEAD', async () => {
    const { ask } = await open();
    const { etag } = await ask('GET', []);
    for (const method of ['GET', 'HEAD']) {
      const { status, head: top } = await ask(method, [`if-none-match: ${etag}`]);
      expect(status).toBe(304);
      expect(top).not.toMatch(/content-length|transfer-encoding/i);
    }
    expect((await ask('HEAD', [])).head).toMatch(/^content-length: [1-9]\d+$/im);
  });

  it('is given for the coding that the caller would get, and for no other', async () => {
    const { ask } = await open();
    const zipped = await ask('GET', ['accept-encoding: gzip']);
    expect([zipped.status, zipped.coding]).toEqual([200, 'gzip']);
    expect((await ask('GET', ['accept-encoding: gzip', `if-none-match: ${zipped.etag}`])).status).toBe(304);
    for (const accepted of [[], ['accept-encoding: br']]) {
      const other = await ask('GET', [...accepted, `if-none-match: ${zipped.etag}`]);
      expect(other.status).toBe(200);
      expect(other.etag).not.toBe(zipped.etag);
    }
  });
});

it('a small body is compressed for a caller who wants no plain one', async () => {
  const gateway = await withGateway({ config: { cache: { compressMinBytes: 1_000_000 } } });
  const key = await gateway.addTeam();
  const ask = (accepted: string) => gateway.call(QUERY, { key, headers: { 'accept-encoding': accepted } });
  // Twice: what one of them left in the cache is not for the other.
  for (let turn = 0; turn < 2; turn++) {
    expect((await ask('gzip')).headers['content-encoding']).toBeUndefined();
    for (const accepted of ['gzip, identity;q=0', 'gzip, *;q=0']) {
      const reply = await ask(accepted);
      expect(reply.headers['content-encoding']).toBe('gzip');
      expect(JSON.parse(gunzipSync(reply.body).toString())).toHaveProperty('data');
    }
    // Nothing fits: plain is better than none.
    expect((await ask('identity;q=0')).headers['content-encoding']).toBeUndefined();
  }
});

/** Rows of a day of which nine are a large part: its days are joined as they are stored. */
const MANY = 300;
const GZIP = { headers: { 'accept-encoding': 'gzip' } };

/** A gateway whose store has the days of a report, and a replica of it whose memory has nothing. */
async function openReplicas(rowsOn: (date: string) => number) {
  const platform = await startRawPlatform(rowsPerDay(rowsOn));
  const config = { config: ALWAYS };
  const writer = await gatewayAt(platform, config);
  const key = await writer.addTeam();
  const query = byDay('2026-11-01', '2026-11-09');
  const plain = await writer.report(key, query);
  await writer.services.reporting.settled();
  const reader = await gatewayAt(platform, { ...config, sharedStore: writer.store, clock: writer.clock });
  await reader.services.registry.refresh();
  return { platform, reader, plain, ask: () => reader.report(key, query, GZIP), key, query };
}

describe('a report of which all days are in the store', () => {
  it.each<[string, (date: string) => number]>([
    ['with rows on each of them', () => 20],
    ['with so many rows that days are stored compressed by themselves', () => MANY],
    ['without rows on some of them', (date) => Number(date.slice(-1)) % 3],
    ['with one row, too small to be deflated', (date) => (date.endsWith('4') ? 1 : 0)],
    ['without any row', () => 0],
  ])('%s is the same, joined', async (_what, rowsOn) => {
    const { platform, ask, plain } = await openReplicas(rowsOn);
    const joined = await ask();
    const encoding = joined.headers['content-encoding'];
    expect(cacheOf(joined)).toMatch(/^hit; ttl=\d+; detail=store/);
    const text = encoding === undefined ? joined.body : gunzipSync(joined.body);
    expect(String(text)).toBe(plain.text);
    expect(reportIn(plain).meta.rowCount).toBe(reportIn(plain).data.length);
    expect(platform.requests).toHaveLength(1);
  });

  it('is made smaller behind the answer when it is asked for again, and has the same tag', async () => {
    const { reader, ask, plain } = await openReplicas(() => MANY);
    const joined = await ask();
    const again = await ask();
    await reader.services.reporting.settled();
    const smaller = await ask();
    expect([again, smaller].map(cacheOf)).toEqual([
      expect.stringContaining('detail=l1'),
      expect.stringContaining('detail=l1'),
    ]);
    expect(again.body.equals(joined.body)).toBe(true);
    expect(smaller.body.length).toBeLessThan(joined.body.length);
    expect(smaller.body.length).toBeLessThanOrEqual(gzipSync(plain.body).length);
    expect(String(gunzipSync(smaller.body))).toBe(plain.text);
    expect(new Set([joined, again, smaller].map(({ headers }) => headers.etag)).size).toBe(1);
  });
});
