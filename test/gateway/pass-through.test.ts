import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { type Handler, sends, startRawPlatform } from '../support/raw-platform.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import {
  type GatewayOptions,
  gatewayAt,
  outcomeOf,
  type TestGateway,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';

async function open(handler: Handler = sends('{"ok":true}'), options: GatewayOptions = {}) {
  const platform = await startRawPlatform(handler);
  const gateway = await gatewayAt(platform, options);
  return { platform, gateway, key: await gateway.addTeam(), url: await listenGateway(gateway) };
}

/** Header names and values, in the order in which they came. */
function pairsOf({ rawHeaders }: IncomingMessage): string[] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : [],
  );
}

describe('what goes to the platform', () => {
  it('holds the gateway’s own credential, and nothing of the caller’s but what belongs to the content', async () => {
    const { platform, key, url } = await open();
    await request(`${url}/api/v1/thing?a=1`, {
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-key': key,
        cookie: 'session=1',
        'proxy-authorization': 'Basic x',
        forwarded: 'for=1.2.3.4',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-host': 'evil.example',
        'x-real-ip': '1.2.3.4',
        'x-request-id': 'mine',
        'x-http-method-override': 'DELETE',
        'x-original-url': '/admin',
        accept: 'text/html',
        'accept-encoding': 'gzip, br',
        'user-agent': 'me',
        via: '1.1 x',
        te: 'trailers',
        'x-anything': '1',
        'accept-language': 'de',
        'if-none-match': '"abc"',
        range: 'bytes=0-9',
        'if-range': '"abc"',
        'idempotency-key': 'k',
      },
    });
    const [received] = platform.requests as [IncomingMessage];
    expect(pairsOf(received).toSorted()).toEqual([
      'accept-encoding: identity',
      'accept-language: de',
      'accept: application/json',
      `authorization: Bearer ${platform.token}`,
      'connection: keep-alive',
      `host: ${new URL(platform.url).host}`,
      'if-none-match: "abc"',
      expect.stringMatching(/^user-agent: dsp-gateway\//),
      expect.stringMatching(/^x-request-id: [0-9a-f-]{36}$/),
    ]);
  });

  it('has its token though the caller names it in connection', async () => {
    const { platform, key, url } = await open();
    const text = await exchange(
      url,
      head('GET /api/v1/thing HTTP/1.1', [
        'host: a',
        `x-api-key: ${key}`,
        'connection: close, authorization, x-api-key, accept',
        'authorization: ',
      ]),
    );
    expect(readAnswers(text)[0]?.status).toBe(401);
    const again = await exchange(
      url,
      head('GET /api/v1/thing HTTP/1.1', [
        'host: a',
        `x-api-key: ${key}`,
        'connection: close, authorization, x-api-key, accept',
      ]),
    );
    expect(readAnswers(again)[0]?.status).toBe(200);
    const [received] = platform.requests as [IncomingMessage];
    expect(received.headers.authorization).toBe(`Bearer ${platform.token}`);
    expect(received.headers.accept).toBe('application/json');
    expect(pairsOf(received).join('\n')).not.toContain(key);
  });

  it('is the very path that was asked for, or nothing', async () => {
    const { platform, key, url } = await open();
    const piece = fc.constantFrom(
      '/',
      '/',
      'a',
      'B',
      '.',
      '..',
      '-',
      '_',
      '~',
      '7',
      '%2e',
      '%2f',
      '%41',
      '\\',
      ';',
      '@',
      ':',
      '//',
      '#',
      '%',
      '%00',
      'é',
    );
    const plain = fc.constantFrom('B', '-', '_', '~', '7');
    const some = { minLength: 1, maxLength: 6 };
    await fc.assert(
      // Of pieces of every kind hardly any make a path that is taken.
      fc.asyncProperty(fc.oneof(fc.array(piece, some), fc.array(plain, some)), async (pieces) => {
        const before = platform.requests.length;
        const target = `/api/v1/x${pieces.join('')}`;
        const text = await exchange(
          url,
          head(`GET ${target} HTTP/1.1`, ['host: a', `x-api-key: ${key}`, 'connection: close']),
        );
        const [answer] = readAnswers(text);
        if (answer?.status === 200) expect(platform.requests.at(-1)?.url).toBe(target);
        else {
          expect(answer?.status).toBe(400);
          expect(platform.requests).toHaveLength(before);
        }
      }),
      // The proxy takes these for ways up: refused by it they would be failures of the platform.
      { numRuns: 150, examples: [[['/', '..', '..']], [['..', '/', 'a']]] },
    );
    expect(platform.requests.length).toBeGreaterThan(10);
  });

  it('means what the caller’s query means, in one spelling', async () => {
    const { platform, key, url } = await open();
    await request(`${url}/api/v1/thing?b=%7e%41+c&a[]=1&a[]=2&k[x]=%C3%BC&empty`, {
      headers: { 'x-api-key': key },
    });
    expect(platform.requests[0]?.url).toBe(
      '/api/v1/thing?b=~A%20c&a%5B%5D=1&a%5B%5D=2&k%5Bx%5D=%C3%BC&empty=',
    );
  });
});

describe('what comes back', () => {
  it('has the platform’s status and content, and none of its other headers', async () => {
    const { key, url } = await open(
      sends(
        '{"id":7}',
        {
          server: 'nginx',
          'x-powered-by': 'PHP/8',
          'set-cookie': ['a=b', 'c=d'],
          'www-authenticate': 'Bearer',
          'x-ratelimit-remaining': '3',
          connection: 'x-secret',
          'x-secret': '1',
          'access-control-allow-origin': '*',
          'strict-transport-security': 'max-age=1',
          'cache-control': 'public, max-age=60',
          location: 'https://platform.internal/7',
          etag: '"v1"',
          'last-modified': 'Sat, 21 Nov 2026 12:00:00 GMT',
          'content-disposition': 'attachment',
          'content-language': 'en',
        },
        201,
      ),
    );
    const { statusCode, headers, body } = await request(`${url}/api/v1/thing`, {
      method: 'POST',
      headers: { 'x-api-key': key },
    });
    const { date: _, 'x-request-id': id, 'keep-alive': _k, connection: _c, ...rest } = headers;
    expect([statusCode, await body.text()]).toEqual([201, '{"id":7}']);
    expect(rest).toEqual({
      'content-type': 'application/json',
      'content-length': '8',
      'content-disposition': 'attachment',
      'content-language': 'en',
      etag: '"v1"',
      'last-modified': 'Sat, 21 Nov 2026 12:00:00 GMT',
      'cache-control': 'private, no-store',
      'cache-status': 'dsp-gateway; fwd=bypass',
      'ratelimit-policy': '"team";q=1000000;w=60',
      ratelimit: '"team";r=999999;t=1',
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('never holds the token: not in a header, not in the body, in one piece or in many', async () => {
    const body = (token: string) =>
      `{"debug":"Bearer ${token}","json":${JSON.stringify(token)},"url":"?t=${encodeURIComponent(token)}"}`;
    const { platform, key, url } = await open((_request, response) => {
      const text = body(platform.token);
      response.writeHead(200, {
        'content-type': 'application/json',
        etag: `"${platform.token.replaceAll('"', '')}"`,
        'content-disposition': platform.token,
        'content-length': String(Buffer.byteLength(text)),
      });
      let at = 0;
      const step = () => {
        if (at >= text.length) return void response.end();
        response.write(text.slice(at, at + 3));
        at += 3;
        setImmediate(step);
      };
      step();
    });
    const reply = await request(`${url}/api/v1/thing`, { headers: { 'x-api-key': key } });
    const text = await reply.body.text();
    expect(text).toHaveLength(body(platform.token).length);
    for (const spelling of [
      platform.token,
      JSON.stringify(platform.token).slice(1, -1),
      encodeURIComponent(platform.token),
    ])
      expect(text + JSON.stringify(reply.headers)).not.toContain(spelling);
    expect(reply.headers['content-disposition']).toBeUndefined();
    expect(text).toMatch(/^\{"debug":"Bearer \*+/);
  });

  it('has none of the headers that the platform says are for the gateway alone', async () => {
    const { key, url } = await open((_request, response) => {
      response.writeHead(200, {
        connection: 'keep-alive, ETag, content-language',
        'content-type': 'text/plain',
        'content-language': 'de',
        etag: '"hop"',
        'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT',
      });
      response.end('x');
    });
    const { headers, body } = await request(`${url}/api/v1/thing`, { headers: { 'x-api-key': key } });
    await body.dump();
    expect([headers.etag, headers['content-language']]).toEqual([undefined, undefined]);
    expect(headers['last-modified']).toBe('Sat, 21 Nov 2026 00:00:00 GMT');
  });

  it('is in plain coding, whatever the platform made of it', async () => {
    const zipped = gzipSync('{"ok":true}');
    const { platform, key, url } = await open(
      sends(zipped, { 'content-encoding': 'gzip', 'content-length': String(zipped.length) }),
    );
    const ask = (method: 'GET' | 'HEAD') =>
      request(`${url}/api/v1/thing`, { method, headers: { 'x-api-key': key, 'accept-encoding': 'gzip' } });
    const get = await ask('GET');
    expect([await get.body.text(), get.headers['content-encoding'], get.headers['content-length']]).toEqual([
      '{"ok":true}',
      undefined,
      undefined,
    ]);
    const headed = await ask('HEAD');
    await headed.body.dump();
    expect([headed.statusCode, headed.headers['content-encoding'], headed.headers['content-length']]).toEqual(
      [200, undefined, undefined],
    );
    platform.answer(sends('x', { 'content-encoding': 'gzip, gzip' }));
    const chain = await ask('GET');
    expect([chain.statusCode, ((await chain.body.json()) as { code: string }).code]).toEqual([
      502,
      'upstream_invalid_response',
    ]);
  });

  it.each([204, 304])('may be without a body: %s', async (status) => {
    const { key, url } = await open(sends('', { 'content-encoding': 'gzip', etag: '"v1"' }, status));
    const reply = await request(`${url}/api/v1/thing`, {
      headers: { 'x-api-key': key, 'if-none-match': '"v1"' },
    });
    expect([reply.statusCode, await reply.body.text(), reply.headers.etag]).toEqual([status, '', '"v1"']);
  });

  it('is whole whatever range is asked for, so that a token in it is masked', async () => {
    let token = '';
    const { platform, key, url } = await open((request, response) => {
      const body = `{"auth":"${token}"}`;
      const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      if (from === undefined) sends(body, { 'accept-ranges': 'bytes' })(request, response);
      else
        sends(
          body.slice(Number(from), Number(to) + 1),
          { 'content-range': `bytes ${from}-${to}/99` },
          206,
        )(request, response);
    });
    token = platform.token;
    for (const range of ['bytes=0-14', 'bytes=15-60']) {
      const reply = await request(`${url}/api/v1/thing`, { headers: { 'x-api-key': key, range } });
      expect(reply.statusCode).toBe(200);
      expect(await reply.body.text()).toBe(`{"auth":"${'*'.repeat(token.length)}"}`);
      expect(reply.headers).not.toHaveProperty('accept-ranges');
    }
  });

  it('is refused as a part that nobody asked for', async () => {
    const { key, gateway } = await open(sends('01234', { 'content-range': 'bytes 0-4/10' }, 206));
    const reply = await gateway.call('/api/v1/thing', { key });
    expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
  });
});

interface Mark {
  readonly stage: string;
  readonly endedMs: number;
}

/** The stages of the requests so far that have any. */
function stagesIn(gateway: TestGateway): readonly (readonly Mark[])[] {
  return gateway.log
    .filter(({ msg }) => msg === 'stages of the request')
    .map(({ stages }) => stages as readonly Mark[])
    .filter(([first]) => first?.stage === 'admit');
}

const namesIn = (gateway: TestGateway) => stagesIn(gateway).map((marks) => marks.map(({ stage }) => stage));

describe('what is passed through', () => {
  it('is admitted, checked, given a slot, fetched and answered, in this order and with times', async () => {
    const { gateway, key } = await open(sends('{"ok":true}'));
    await gateway.call('/api/v1/campaign/1', { key });
    expect(namesIn(gateway)).toEqual([['admit', 'check', 'acquire', 'fetch', 'answer']]);
    const times = stagesIn(gateway)
      .flat()
      .map(({ endedMs }) => endedMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.every((ms) => ms >= 0)).toBe(true);
  });

  it('goes no further than the stage that refuses it', async () => {
    const { platform, gateway, key } = await open((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    const limited = await gateway.addTeam({ advertisers: [1] });
    await gateway.call('/api/v1/campaign/1', { key: limited });
    await gateway.call('/api/v1/campaign/1?_method=DELETE', { key });
    expect(platform.requests).toHaveLength(0);
    await gateway.call('/api/v1/campaign/1', { key });
    expect(namesIn(gateway)).toEqual([['admit'], ['admit'], ['admit', 'check', 'acquire']]);
  });

  it('is not fetched where the first answer to its idempotency key is given again', async () => {
    const { gateway, key } = await open(sends('{"id":7}', { 'content-type': 'application/json' }, 201));
    const headers = { 'idempotency-key': 'once' };
    for (let n = 0; n < 2; n++)
      await gateway.call('/api/v1/campaign/create', { method: 'POST', key, headers, json: { name: 'x' } });
    expect(namesIn(gateway)).toEqual([
      ['admit', 'check', 'acquire', 'fetch', 'answer'],
      ['admit', 'check', 'answer'],
    ]);
  });
});

const CAMPAIGN = {
  name: 'New',
  adDomain: 'example.com',
  clickUrl: 'https://example.com/',
  dates: { from: '2026-12-01', to: '2026-12-31' },
  country: 'DE',
  bid: 1.5,
  budget: { daily: 10, total: 100 },
  creativeSetIds: [1],
};
const CREATE = '/api/v1/campaign/create';
const LIST = '/api/v1/campaign/get';

describe('a campaign', () => {
  it('is created, listed, read and deleted, and nothing of it is cached', async () => {
    const { gateway, key } = await withTeam();
    const created = await gateway.call(CREATE, { method: 'POST', key, json: { userId: 1, ...CAMPAIGN } });
    expect(created.status).toBeLessThan(300);
    const { id } = created.json<{ id: number }>();
    for (let at = 0; at < 2; at++) {
      const shown = await gateway.call(`/api/v1/campaign/${id}`, { key });
      expect([shown.status, shown.headers['cache-status'], shown.headers['cache-control']]).toEqual([
        200,
        'dsp-gateway; fwd=bypass',
        'private, no-store',
      ]);
    }
    expect((await gateway.call(LIST, { method: 'POST', key, json: { userId: 1 } })).text).toContain(
      String(id),
    );
    expect((await gateway.call(`/api/v1/campaign/${id}`, { method: 'DELETE', key })).status).toBeLessThan(
      300,
    );
    expect((await gateway.call(`/api/v1/campaign/${id}`, { key })).status).toBe(404);
    expect(gateway.simulator.callCount).toBe(6);
  });

  it('of its own a limited team may create and list, and no other', async () => {
    const { gateway, key } = await withTeam({}, { advertisers: [1] });
    const post = (path: string, json: unknown, query = '') =>
      gateway.call(path + query, { method: 'POST', key, json });
    expect((await post(CREATE, { userId: 1, ...CAMPAIGN })).status).toBeLessThan(300);
    expect((await post(LIST, { userId: 1 }, '?per_page=200')).status).toBe(200);
    const calls = gateway.simulator.callCount;
    expect(outcomeOf(await post(CREATE, { userId: 2, ...CAMPAIGN }))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await post(CREATE, { userId: 1, ...CAMPAIGN, advertiserId: 2 }))).toBe(
      '403 advertiser_forbidden',
    );
    expect(outcomeOf(await post(LIST, { userId: 1 }, '?userId=2'))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await post(LIST, { userId: 1 }, '?users[0][id]=2'))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await post(LIST, {}))).toBe('403 advertiser_required');
    expect(outcomeOf(await post(LIST, {}, '?userId=1'))).toBe('403 advertiser_required');
    expect(outcomeOf(await gateway.call('/api/v1/campaign/101', { key }))).toBe('403 route_forbidden');
    expect(outcomeOf(await gateway.call('/api/v1/campaign/101', { method: 'DELETE', key }))).toBe(
      '403 route_forbidden',
    );
    for (const [path, meant] of [
      ['/api/v1/reports', '/api/v1/report/…'],
      ['/api/v1/reports/campaign/list', '/api/v1/report/campaign/list'],
    ] as const) {
      const reply = await gateway.call(path, { key });
      expect(outcomeOf(reply)).toBe('403 route_forbidden');
      expect(JSON.parse(reply.text)).toMatchObject({
        detail: expect.stringContaining(`did you mean ${meant}?`),
        help: expect.stringMatching(/^Use \/api\/v1\/report\//),
      });
    }
    expect(gateway.simulator.callCount).toBe(calls);
  });
});

describe('scopes', () => {
  it('platform:read reads, platform:write writes, and neither stands for the other', async () => {
    const gateway = await withGateway();
    const reads = await gateway.addTeam({ scopes: ['platform:read'] });
    const writes = await gateway.addTeam({ scopes: ['platform:write'] });
    const reports = await gateway.addTeam({ scopes: ['report:read'] });
    const asked = async (key: string) => {
      const outcomes: string[] = [];
      for (const [method, path, json] of [
        ['GET', '/api/v1/campaign/101', undefined],
        ['POST', LIST, { userId: 1 }],
        ['POST', CREATE, { userId: 1 }],
        ['DELETE', '/api/v1/campaign/101', undefined],
        ['POST', '/api/v1/report/creatives/get', {}],
      ] as const)
        outcomes.push(
          outcomeOf(await gateway.call(path, { method, key, ...(json === undefined ? {} : { json }) })),
        );
      return outcomes.map((outcome) => (outcome === '403 scope_missing' ? 'no' : 'yes'));
    };
    expect(await asked(reads)).toEqual(['yes', 'yes', 'no', 'no', 'no']);
    expect(await asked(writes)).toEqual(['no', 'no', 'yes', 'yes', 'yes']);
    expect(await asked(reports)).toEqual(['no', 'no', 'no', 'no', 'no']);
  });
});

describe('a body that is checked', () => {
  it('is sent byte for byte', async () => {
    const platform = await startRawPlatform((request, response) => {
      void buffer(request).then((bytes) => sends(bytes, { 'content-type': 'text/plain' })(request, response));
    });
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ advertisers: [1] });
    const body = '{ "userId" : 1,\r\n "x": 1.10e+2, "ü":"\\u00fc", "n": 9007199254740993 }';
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const reply = await gateway.call(CREATE, { method: 'POST', key, body, headers });
    expect([reply.status, reply.text]).toEqual([200, body]);
    const [received] = platform.requests;
    expect(received?.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
    });
    expect(
      (
        await gateway.call(CREATE, {
          method: 'POST',
          key: await gateway.addTeam(),
          body: 'a=1&b=%20',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      ).text,
    ).toBe('a=1&b=%20');
    expect(platform.requests[1]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  });

  const JSON_TYPE = { 'content-type': 'application/json' };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

  it.each<[string, string, Record<string, string>, string]>([
    ['ambiguous', '{"userId":1,"userId":2}', JSON_TYPE, '400 invalid_body'],
    ['another method', '{"userId":1,"_method":"DELETE"}', JSON_TYPE, '400 invalid_body'],
    ['a form', 'userId=1', FORM, '415 unsupported_media_type'],
    ['compressed', '{}', { ...JSON_TYPE, 'content-encoding': 'gzip' }, '415 unsupported_media_type'],
    ['too large', `{"userId":1,"x":"${'x'.repeat(1100)}"}`, JSON_TYPE, '413 body_too_large'],
  ])('is refused when it is %s', async (_what, body, headers, outcome) => {
    const { gateway, key } = await withTeam(
      { config: { server: { maxBodyBytes: 1024 } } },
      { advertisers: [1] },
    );
    expect(outcomeOf(await gateway.call(CREATE, { method: 'POST', key, body, headers }))).toBe(outcome);
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('may not change the method, whoever sends it and in whatever form', async () => {
    const { gateway, key } = await withTeam();
    const post = async (body: string, type: string) =>
      outcomeOf(
        await gateway.call('/api/v1/campaign/101', {
          method: 'POST',
          key,
          body,
          headers: { 'content-type': type },
        }),
      );
    expect(await post('{"_method":"DELETE"}', 'application/json')).toBe('400 invalid_body');
    expect(await post('_method=DELETE', 'application/x-www-form-urlencoded')).toBe('400 invalid_body');
    expect(await post('a=1&.method=DELETE', 'application/x-www-form-urlencoded; charset=utf-8')).toBe(
      '400 invalid_body',
    );
    expect(gateway.simulator.callCount).toBe(0);
    const overridden = await gateway.call('/api/v1/campaign/101', {
      method: 'POST',
      key,
      json: {},
      headers: {
        'x-http-method-override': 'DELETE',
        'x-method-override': 'DELETE',
        'x-http-method': 'DELETE',
      },
    });
    expect(overridden.status).toBe(405);
    expect(gateway.simulator.calls.map(({ method }) => method)).toEqual(['POST']);
  });
});

describe('a declared route', () => {
  const route = (changes: object) => ({
    config: {
      routes: [{ method: 'GET', path: '/api/v1/account/*', account: ['query.advertiserId'], ...changes }],
    },
  });

  it('may be used by limited teams for their own, HEAD as GET', async () => {
    const platform = await startRawPlatform(sends('{}'));
    const gateway = await gatewayAt(platform, route({}));
    const key = await gateway.addTeam({ advertisers: [1] });
    const ask = async (target: string, method: 'GET' | 'HEAD' = 'GET') =>
      (await gateway.call(target, { key, method })).status;
    expect(await ask('/api/v1/account/1?advertiserId=1')).toBe(200);
    expect(await ask('/api/v1/account/1?advertiserId=1', 'HEAD')).toBe(200);
    expect(await ask('/api/v1/account/1?advertiserId=2')).toBe(403);
    expect(await ask('/api/v1/account/1')).toBe(403);
    expect(await ask('/api/v1/account/1/more?advertiserId=1')).toBe(403);
    // Of two accounts that are named, each has to be the team's.
    expect(await ask('/api/v1/account/7?advertiserId=1')).toBe(403);
    expect(platform.requests.map(({ url }) => url)).toEqual(
      Array(2).fill('/api/v1/account/1?advertiserId=1'),
    );
  });

  it('may have wider paths, which reach the platform as they are', async () => {
    const platform = await startRawPlatform(sends('{}'));
    const gateway = await gatewayAt(platform, route({ pathChars: '@:,' }));
    const key = await gateway.addTeam();
    expect((await gateway.call('/api/v1/account/me@example.com:1,2', { key })).status).toBe(200);
    expect(outcomeOf(await gateway.call('/api/v1/other/me@example.com', { key }))).toBe('400 invalid_path');
    expect(outcomeOf(await gateway.call('/api/v1/account/me%40example.com', { key }))).toBe(
      '400 invalid_path',
    );
    expect(platform.requests.map(({ url }) => url)).toEqual(['/api/v1/account/me@example.com:1,2']);
  });
});
