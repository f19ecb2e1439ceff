import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, withGateway } from '../support/start-gateway.js';

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
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [1] });
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

  it.each<[string, string, Record<string, string>, string]>([
    ['ambiguous', '{"userId":1,"userId":2}', { 'content-type': 'application/json' }, '400 invalid_body'],
    ['no JSON', '{"userId":1', { 'content-type': 'application/json' }, '400 invalid_body'],
    [
      'another method',
      '{"userId":1,"_method":"DELETE"}',
      { 'content-type': 'application/json' },
      '400 invalid_body',
    ],
    [
      'a form',
      'userId=1',
      { 'content-type': 'application/x-www-form-urlencoded' },
      '415 unsupported_media_type',
    ],
    [
      'compressed',
      '{}',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      '415 unsupported_media_type',
    ],
    [
      'too large',
      `{"userId":1,"x":"${'x'.repeat(1100)}"}`,
      { 'content-type': 'application/json' },
      '413 body_too_large',
    ],
    ['empty', '', { 'content-type': 'application/json' }, '403 advertiser_required'],
  ])('is refused when it is %s', async (_what, body, headers, outcome) => {
    const gateway = await withGateway({ config: { server: { maxBodyBytes: 1024 } } });
    const key = await gateway.addTeam({ advertisers: [1] });
    expect(outcomeOf(await gateway.call(CREATE, { method: 'POST', key, body, headers }))).toBe(outcome);
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('may not change the method, whoever sends it and in whatever form', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
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
