/** Requests as they go over the wire, and answers without what differs between any two: to hold one way against another. */

import { type AddressInfo, connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/gateway.js';
import type { Services } from '../../src/server/services.js';
import { prove } from '../support/prove.js';
import { type Handler, sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import { exchange, head } from '../support/raw-socket.js';
import { rule } from '../support/scene.js';
import {
  type GatewayOptions,
  gatewayAt,
  REPORT,
  type SimulatedGateway,
  startGateway,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

interface Ask {
  readonly method?: string;
  readonly query?: string;
  readonly path?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
}

function requestOf(
  key: string | null,
  { method = 'GET', query = QUERY, path = REPORT, version = '1.1', headers = [] }: Ask,
) {
  return head(`${method} ${path}${query === '' ? '' : `?${query}`} HTTP/${version}`, [
    'host: gateway.test',
    ...(key === null ? [] : [`x-api-key: ${key}`]),
    ...headers,
    'connection: close',
  ]);
}

/** What differs between any two answers: id, date, and what is left of the requests; and the order of headers. */
function masked(answer: string): string {
  const [top = '', ...rest] = answer.split('\r\n\r\n');
  const [status = '', ...all] = top.split('\r\n');
  const body = rest.join('\r\n\r\n');
  // A gzip body joined of days is compressed again, as a whole, on repeated use: what it holds is the same.
  const isGzip = all.includes('content-encoding: gzip') && body !== '';
  const headers = isGzip ? all.filter((header) => !header.startsWith('content-length:')) : all;
  const plain = isGzip ? gunzipSync(Buffer.from(body, 'latin1')).toString('latin1') : body;
  return [status, ...headers.sort(), '', plain]
    .join('\r\n')
    .replace(/^x-request-id: .*$/im, 'x-request-id: …')
    .replace(/^date: .*$/im, 'date: …')
    .replace(/"requestId":"[^"]*"/, '"requestId":"…"')
    .replace(/^ratelimit: .*$/im, 'ratelimit: …');
}

/** Whom the router answers. */
interface Asked {
  readonly key: string;
  readonly routed: (request: string) => Promise<string>;
}

/** Asked often enough to be at hand, in the very form in which it is asked. */
async function warm({ routed, key }: Asked, ask: Ask): Promise<void> {
  for (let n = 0; n < 2; n++) await routed(requestOf(key, ask));
}

interface Scene<G extends TestGateway = TestGateway> {
  readonly gateway: G;
  readonly team: string;
  readonly key: string;
  /** Requests that the router has not seen so far. */
  readonly atOnce: () => number;
  /** What comes back over a connection of its own, by either way. */
  readonly fast: (request: string) => Promise<string>;
  /** Of the plane that answers at once. */
  readonly url: string;
  readonly routed: (request: string) => Promise<string>;
}

/**
 * Two data planes over the same services: one answers at once what it can, from the store alone where it has no
 * `memory`; the other never does.
 */
async function sceneOf<G extends TestGateway>(
  gateway: G,
  given: Readonly<Record<string, unknown>> = {},
  memory = true,
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Scene<G>> {
  const team = 'team-1';
  const key = await gateway.addTeam(given);
  let atOnce = 0;
  const { config } = gateway.services;
  const routedPlane = await gateway.buildData({
    config: { ...config, server: { ...config.server, fastPath: false } },
  });
  const fastPlane = await gateway.buildData(memory ? {} : { gateway: forgetful(gateway.services) });
  fastPlane.server.prependListener('request', () => {
    atOnce += 1;
  });
  fastPlane.addHook('onResponse', (_request, _reply, done) => {
    atOnce -= 1;
    done();
  });
  const open = async (plane: TestGateway['data']) => {
    await plane.listen({ host: '127.0.0.1', port: 0 });
    atEnd(async () => {
      plane.server.closeAllConnections();
      await plane.close();
    });
    return `http://127.0.0.1:${(plane.server.address() as AddressInfo).port}`;
  };
  const [url, routedUrl] = [await open(fastPlane), await open(routedPlane)];
  return {
    gateway,
    team,
    key,
    url,
    atOnce: () => atOnce,
    fast: (request) => exchange(url, request),
    routed: (request) => exchange(routedUrl, request),
  };
}

/** One for all tests of a `describe`. @returns it, for a team of the test's own */
function sharedScene(memory = true): () => Promise<Scene> {
  const ends: (() => Promise<void>)[] = [];
  let shared: Scene;
  let teams = 0;
  beforeAll(async () => {
    const gateway = await startGateway({ logLevel: 'info', config: rule({ divisible: 'never' }) });
    ends.push(gateway.close);
    shared = await sceneOf(gateway, {}, memory, (end) => void ends.push(end));
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return async () => {
    teams += 1;
    const [team, before] = [`own-${teams}`, shared.atOnce()];
    const key = await shared.gateway.addTeam({ id: team });
    return { ...shared, team, key, atOnce: () => shared.atOnce() - before };
  };
}

/** The same path where every finished answer has been put out by others. */
function forgetful(services: Services): Services['gateway'] {
  const { reporting } = services;
  const memory = { ...reporting.memory, find: () => null };
  return createGateway({ ...reporting, memory });
}

const storeScene = <G extends TestGateway>(gateway: G, team = {}) => sceneOf(gateway, team, false);

describe('an answer from the store is the router’s, byte for byte', () => {
  const scene = sharedScene(false);

  it.each<[string, Ask]>([
    ['JSON', {}],
    ['CSV', { query: `${QUERY}&_format=csv` }],
    ['the platform’s own bytes', { query: `${QUERY}&_format=raw` }],
    ['totals and days', { query: `${QUERY}&_totals=1&_days=1` }],
    ['gzip', { headers: ['accept-encoding: gzip'] }],
    ['no body', { method: 'HEAD' }],
    ['not modified', { headers: ['if-none-match: *'] }],
  ])('%s', async (_what, ask) => {
    const shared = await scene();
    await warm(shared, ask);
    const request = requestOf(shared.key, ask);
    const [fast, routed] = [await shared.fast(request), await shared.routed(request)];
    expect(masked(fast)).toBe(masked(routed).replace('detail=l1', 'detail=store'));
    expect(fast).toMatch(/^HTTP\/1\.1 (200|304) /);
    expect(fast).toContain('detail=store');
    expect(shared.atOnce()).toBe(1);
  });
});

describe('a plain request that is no hit', () => {
  const linesOf = ({ gateway }: Scene) => gateway.log.filter(({ msg }) => msg === 'request');

  it.each<[string, Handler, number]>([
    ['is brought', sends('{"data":[{"clicks":3}]}'), 200],
    ['cannot be brought', (_request, response) => response.writeHead(400).end('{}'), 400],
  ])('%s: it is answered before the router, charged and logged once', async (_what, later, status) => {
    let respond: Handler = sends('{"data":[{"clicks":2}]}');
    const platform = await startRawPlatform((request, response) => respond(request, response));
    const at = await storeScene(await gatewayAt(platform, { logLevel: 'info' }));
    await warm(at, {});
    respond = later;
    await at.gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    const [before, calls] = [linesOf(at).length, platform.requests.length];
    const answer = await at.fast(requestOf(at.key, {}));
    expect(answer.slice(9, 12)).toBe(String(status));
    expect(answer).toContain('r=999997');
    expect(platform.requests.length - calls).toBe(1);
    const lines = linesOf(at)
      .slice(before)
      .filter(({ plane }) => plane === 'data');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ status, platformCalls: 1, team: 'team-1' });
    expect(answer).toContain(`x-request-id: ${lines[0]?.reqId}`);
    expect(at.atOnce()).toBe(1);
  });

  it('is told as left by its caller, once, is no error, and gives back its place', async () => {
    const platform = await startHeldPlatform(sends('{"data":[{"campaign_id":1,"clicks":2}]}'));
    platform.release();
    const at = await storeScene(await gatewayAt(platform, { logLevel: 'info' }), {
      limits: { maxConcurrent: 5 },
    });
    await warm(at, {});
    platform.hold();
    await at.gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    const [before, arrived] = [linesOf(at).length, platform.requests.length];
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    socket.write(requestOf(at.key, {}));
    await platform.arrived(arrived + 1);
    socket.resetAndDestroy();
    await waitFor('its line', () => linesOf(at).length > before);
    platform.release();
    await at.gateway.services.settled();
    expect(linesOf(at).slice(before)).toMatchObject([{ status: 499, team: 'team-1', complete: false }]);
    await at.gateway.services.tally.flush();
    expect((await at.gateway.manage('GET', '/usage')).usage).toContainEqual(
      expect.objectContaining({ team: 'team-1', errors: 0 }),
    );
    const team = at.gateway.services.directory.team('team-1');
    expect(team && at.gateway.services.limits.teams.concurrencyLeft(team)).toBe(5);
  });
});

describe('before the router', () => {
  const scene = async (options: GatewayOptions = {}, team: Readonly<Record<string, unknown>> = {}) =>
    sceneOf<SimulatedGateway>(
      await withGateway({ logLevel: 'info', config: rule({ divisible: 'never' }), ...options }),
      team,
    );

  describe('an answer at once is the router’s, byte for byte', () => {
    const scene = sharedScene();

    it.each<[string, Ask, isAtOnce: boolean]>([
      ['JSON', {}, true],
      ['CSV', { query: `${QUERY}&_format=csv` }, true],
      ['CSV by accept', { headers: ['accept: text/csv'] }, true],
      ['NDJSON', { query: `${QUERY}&_format=ndjson` }, true],
      ['the platform’s own bytes', { query: `${QUERY}&_format=raw` }, true],
      ['totals and days', { query: `${QUERY}&_totals=1&_days=1` }, true],
      ['a relative period', { query: 'advertiserId=1&byDate=1&_period=last_7_days' }, true],
      ['gzip', { headers: ['accept-encoding: gzip'] }, true],
      ['brotli', { headers: ['accept-encoding: br, gzip;q=0.5'] }, true],
      ['no body', { method: 'HEAD' }, true],
      ['no body, compressed', { method: 'HEAD', headers: ['accept-encoding: gzip'] }, true],
      ['modified', { headers: ['if-none-match: "another"'] }, true],
      ['not modified', { headers: ['if-none-match: *'] }, true],
      ['names in any case', { headers: ['Accept: */*', 'USER-AGENT: x', 'Cookie: a=b'] }, true],
      ['a wish for fresh', { headers: ['cache-control: no-cache'] }, false],
      ['a wish for any', { headers: ['cache-control: max-stale'] }, false],
      ['two accepts', { headers: ['accept: text/csv', 'accept: application/json'] }, false],
      ['no known format', { headers: ['accept: image/png'] }, true],
      ['a length', { headers: ['content-length: 0'] }, false],
      ['an expectation', { headers: ['expect: 100-continue'] }, false],
      ['an upgrade', { headers: ['upgrade: h2c'] }, false],
      ['an origin', { headers: ['origin: https://app.test'] }, false],
      ['another version', { version: '1.0' }, false],
      ['two hosts', { headers: ['host: other.test'] }, false],
      ['two keys', { headers: ['x-api-key: dgw_x'] }, false],
      ['a bearer that is no key', { headers: ['authorization: Bearer x'] }, true],
      ['a wrong query', { query: 'advertiserId=1&dateFrom=x' }, true],
      ['a parameter that nobody knows', { query: `${QUERY}&colour=red` }, true],
      ['a path that is refused', { path: `${REPORT}/` }, true],
      ['another method', { method: 'DELETE' }, false],
    ])('%s', async (_what, ask, isAtOnce) => {
      const shared = await scene();
      await warm(shared, ask);
      // The second one on its connection waits for the first, and ends it.
      const last = requestOf(shared.key, ask);
      const request = isAtOnce ? last.replace('connection: close', 'user-agent: test') + last : last;
      const answersOf = (text: string) => text.split(/(?=HTTP\/1\.1 \d{3} )/).map(masked);
      const [fast, routed] = [await shared.fast(request), await shared.routed(request)].map(answersOf);
      expect(fast).toEqual(routed);
      expect(fast?.[0]).toMatch(/^HTTP\/1\.1 \d{3} /);
      expect(shared.atOnce()).toBe(isAtOnce ? 2 : 0);
    });

    it('one after the other, of requests that were sent ahead', async () => {
      const shared = await scene();
      const keepAlive = (query: string) =>
        head(`GET ${REPORT}?${query} HTTP/1.1`, ['host: gateway.test', `x-api-key: ${shared.key}`]);
      await warm(shared, {});
      const other = `${QUERY}&_format=ndjson`;
      await warm(shared, { query: other });
      const ahead =
        keepAlive(QUERY) + keepAlive(other) + keepAlive('advertiserId=x') + requestOf(shared.key, {});
      const answers = (await shared.fast(ahead)).split(/(?=HTTP\/1\.1 \d{3} )/);
      expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '200', '400', '200']);
      expect(answers[1]).toContain('application/x-ndjson');
      expect(shared.atOnce()).toBe(4);
    });
  });

  describe('a request that was answered at once', () => {
    it('is logged, counted and charged as if the router had answered it', async () => {
      const { gateway, key, fast, routed, atOnce } = await scene();
      for (let n = 0; n < 2; n++) await routed(requestOf(key, {}));
      await routed(requestOf(key, {}));
      await fast(requestOf(key, {}));
      expect(atOnce()).toBe(1);
      const lines = gateway.log.filter(({ msg }) => msg === 'request').slice(-2);
      const [byRouter, byFast] = lines.map((line) => ({
        ...line,
        reqId: typeof line.reqId,
        time: typeof line.time,
        ms: typeof line.ms,
      }));
      expect(byFast).toEqual(byRouter);
      expect(Object.keys(lines[1] ?? {})).toEqual(Object.keys(lines[0] ?? {}));
      const text = await gateway.services.metrics.registry.metrics();
      expect(text).toMatch(
        /^dsp_gateway_requests_total\{plane="data",status="200",outcome="hit",team="team-1"\} 3$/m,
      );
      const used = await gateway.call('/gateway/v1/me', { key });
      await gateway.services.tally.flush();
      const [today] = (await gateway.services.usage.recent('team-1')) ?? [];
      expect(today).toMatchObject({ requests: 4, hits: 3, errors: 0 });
      expect(used.headers.ratelimit).toContain('r=999996');
    });
  });

  describe('between two requests that are otherwise the same', () => {
    const shared = sharedScene();
    const patched = (patch: object) => (at: Scene) => at.gateway.manage('PATCH', `/teams/${at.team}`, patch);

    it.each<[string, (at: Scene) => Promise<unknown>, status: number]>([
      [
        'the key is revoked',
        async ({ gateway, team }) => {
          const { keys } = (await gateway.manage('GET', `/teams/${team}/keys`)) as { keys: { id: string }[] };
          await gateway.manage('DELETE', `/keys/${keys[0]?.id}`);
        },
        401,
      ],
      ['the team is disabled', patched({ disabled: true }), 403],
      ['the team is deleted', ({ gateway, team }) => gateway.manage('DELETE', `/teams/${team}`), 401],
      ['the scope is taken', patched({ scopes: [] }), 403],
      ['the advertiser is taken', patched({ advertisers: [2] }), 403],
      ['the address is shut out', patched({ ipAllow: ['10.9.9.9'] }), 403],
      ['the range becomes too long', patched({ limits: { maxRangeDays: 2 } }), 400],
    ])('%s: it is refused', async (_what, change, status) => {
      const at = await shared();
      await warm(at, {});
      expect(await at.fast(requestOf(at.key, {}))).toMatch(/^HTTP\/1\.1 200 /);
      expect(at.atOnce()).toBe(1);
      await change(at);
      expect(await at.fast(requestOf(at.key, {}))).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(at.atOnce()).toBe(2);
    });

    it('the requests are used up: no more are answered than the team may ask', async () => {
      const at = await scene({}, { limits: { requestsPerMinute: 60, maxConcurrent: 10 } });
      await warm(at, {});
      const statuses: string[] = [];
      for (let n = 0; n < 60; n++) statuses.push((await at.fast(requestOf(at.key, {}))).slice(9, 12));
      expect(statuses).toEqual([...Array(58).fill('200'), '429', '429']);
      expect(at.atOnce()).toBeGreaterThan(30);
    });

    it('the answer is purged, or gets old: it is fetched anew', async () => {
      const at = await scene();
      await warm(at, {});
      await at.gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
      expect(await at.fast(requestOf(at.key, {}))).toContain('fwd=miss');
      expect(await at.fast(requestOf(at.key, {}))).toContain('detail=l1');
      at.gateway.clock.advance(40 * 86_400_000);
      expect(await at.fast(requestOf(at.key, {}))).not.toContain('detail=l1');
    });

    it('the day changes: what was relative means another day', async () => {
      const at = await scene();
      const ask = { query: 'advertiserId=1&byDate=1&_period=yesterday' };
      await warm(at, ask);
      expect(await at.fast(requestOf(at.key, ask))).toContain('"from":"2026-11-20"');
      expect(at.atOnce()).toBe(1);
      at.gateway.clock.advance(86_400_000);
      expect(await at.fast(requestOf(at.key, ask))).toContain('"from":"2026-11-21"');
      at.gateway.clock.advance(-86_400_000);
      expect(await at.fast(requestOf(at.key, ask))).toContain('"from":"2026-11-20"');
    });
  });

  it('is joined from days, too, and costs no call on the next day', async () => {
    // The day of checks ends, and that of the question goes on.
    const at = await scene({ config: { platform: { timezone: 'America/Los_Angeles' } } });
    const { gateway } = at;
    await prove(gateway, at.key);
    const ask = { query: 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05' };
    await warm(at, ask);
    gateway.clock.advance(12 * 3_600_000);
    // Draws permits for the new minute.
    await at.routed(requestOf(at.key, {}));
    await gateway.services.settled();
    const calls = [];
    for (let n = 0; n < 3; n++) {
      const before = gateway.simulator.callCount;
      expect(await at.fast(requestOf(at.key, ask))).toContain('detail=l1');
      await gateway.services.settled();
      calls.push(gateway.simulator.callCount - before);
    }
    expect(at.atOnce()).toBe(3);
    expect(calls).toEqual([0, 0, 0]);
  });

  it('holds no place of its team when it is over, however often it is asked', async () => {
    const at = await scene({}, { limits: { requestsPerMinute: 1_000_000, maxConcurrent: 1 } });
    await warm(at, {});
    for (let n = 0; n < 20; n++) expect(await at.fast(requestOf(at.key, {}))).toMatch(/^HTTP\/1\.1 200 /);
    expect(at.atOnce()).toBe(20);
    const team = at.gateway.services.directory.team('team-1');
    expect(team && at.gateway.services.limits.teams.concurrencyLeft(team)).toBe(1);
  });
});
