import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, REPORT, reportIn, withGateway } from '../support/start-gateway.js';
import { FINAL, RESTATING } from './reports.js';

const BY_DATE = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

describe('the rows', () => {
  it('are the platform’s, in every format and in every shape of its answer', async () => {
    for (const shape of ['data', 'array', 'nested', 'totals'] as const) {
      const gateway = await withGateway({ switches: { shape } });
      const key = await gateway.addTeam();
      const truth = gateway.simulator.truth({
        advertiserId: 1,
        byDate: true,
        byCampaign: true,
        dateFrom: '2026-11-01',
        dateTo: '2026-11-07',
      });
      expect(reportIn(await gateway.report(key, BY_DATE)).data).toEqual(truth);
      const ndjson = await gateway.report(key, `${BY_DATE}&_format=ndjson`);
      expect(
        ndjson.text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual(truth);
      const csv = await gateway.report(key, `${BY_DATE}&_format=csv`);
      expect(csv.text.trimEnd().split('\r\n')).toHaveLength(truth.length + 1);
      expect(csv.text.split('\r\n')[0]).toBe(
        'date,campaignId,campaignName,advertiserId,currency,impressions,clicks,spent,reach',
      );
    }
  });

  it('come as a table with a name to save it under, whatever the account is called', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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

  it('say what they are: the meta of the contract', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    expect(reportIn(await gateway.report(key, `${BY_DATE}&spentBased=local`)).meta).toEqual({
      endpoint: 'campaigns/get',
      advertiserId: 1,
      period: { from: '2026-11-01', to: '2026-11-07' },
      split: ['date', 'campaign'],
      spentBased: 'local',
      rowCount: expect.any(Number),
      asOf: '2026-11-21T12:00:00.000Z',
      final: true,
      stale: false,
      reach: { summable: false },
    });
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

  it('keep numbers that JavaScript cannot hold', async () => {
    const body =
      '{"data":[{"campaign_id":9007199254740993,"big":1e400,"fine":0.1234567890123456789,"spent":"0.10"}]}';
    const gateway = await gatewayAt(await startRawPlatform(sends(body)));
    const key = await gateway.addTeam();
    const row = '{"campaignId":"9007199254740993","big":"1e400","fine":"0.1234567890123456789","spent":0.1}';
    expect((await gateway.report(key, FINAL)).text).toContain(`{"data":[${row}],`);
    expect((await gateway.report(key, `${FINAL}&_format=ndjson`)).text).toBe(`${row}\n`);
    expect((await gateway.report(key, `${FINAL}&_format=csv`)).text).toBe(
      'campaignId,big,fine,spent\r\n9007199254740993,1e400,0.1234567890123456789,0.1\r\n',
    );
  });

  it('say so when they are not all there are', async () => {
    const body = '{"data":[{"a":1}],"meta":{"current_page":1,"last_page":3,"per_page":1,"total":3}}';
    const gateway = await gatewayAt(await startRawPlatform(sends(body)));
    const { meta } = reportIn(await gateway.report(await gateway.addTeam(), FINAL));
    expect(meta.paging).toEqual({ page: 1, pages: 3, perPage: 1, total: 3 });
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
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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
    [
      'beside the rows',
      (token: string) => JSON.stringify({ data: [], debug: { auth: [`Bearer ${token}`] } }),
    ],
    ['in escapes', (token: string) => `{"data":[{"debug":"${escaped(token)}"}]}`],
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
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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

  it('leaves small bodies as they are', async () => {
    const gateway = await withGateway();
    const reply = await gateway.report(await gateway.addTeam(), 'advertiserId=1', {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(reply.headers['content-encoding']).toBeUndefined();
    expect(reportIn(reply).data).toHaveLength(1);
  });

  it('is undone on the way from the platform', async () => {
    const gateway = await withGateway({ switches: { contentEncoding: 'gzip' } });
    const key = await gateway.addTeam();
    const reply = await gateway.report(key, `${BY_DATE}&_format=raw`);
    expect(JSON.parse(reply.text).data.length).toBeGreaterThan(0);
    gateway.simulator.set({ contentEncoding: 'bomb' });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_too_large');
    gateway.simulator.set({ contentEncoding: 'chain' });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_invalid_response');
  });
});

describe('what is sent to the platform', () => {
  it('is built from the question, with nothing of the caller’s', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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

  it('goes below the base path of the platform', async () => {
    const gateway = await withGateway({ basePath: '/dsp/x' });
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
    expect(gateway.simulator.calls[0]?.path).toBe('/dsp/x/api/v1/report/campaigns/get');
  });
});
