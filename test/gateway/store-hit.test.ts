/** What a process without room for finished answers gives from the store is the router's, byte for byte; so is all else. */
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/gateway.js';
import type { Services } from '../../src/server/services.js';
import { listenGateway } from '../support/listen-gateway.js';
import { type Handler, sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import { exchange, head } from '../support/raw-socket.js';
import { gatewayAt, REPORT, type TestGateway, withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';
import { type Ask, masked, QUERY, requestOf, warm } from './by-either-way.js';

interface Scene<G extends TestGateway = TestGateway> {
  readonly gateway: G;
  readonly key: string;
  /** Requests that the router has not seen so far. */
  readonly atOnce: () => number;
  /** What comes back over a connection of its own, by either way. */
  readonly fast: (request: string) => Promise<string>;
  /** Of the plane that answers at once. */
  readonly url: string;
  readonly routed: (request: string) => Promise<string>;
}

/** Two data planes over the same services: one, without answers in memory, answers before the router; one never does. */
async function sceneOf<G extends TestGateway>(
  gateway: G,
  team: Readonly<Record<string, unknown>> = {},
): Promise<Scene<G>> {
  const key = await gateway.addTeam(team);
  let atOnce = 0;
  const { config } = gateway.services;
  const own = forgetful(gateway.services);
  const routedPlane = await gateway.buildData({
    config: { ...config, server: { ...config.server, fastPath: false } },
  });
  const fastPlane = await gateway.buildData({ gateway: own });
  fastPlane.server.prependListener('request', () => {
    atOnce += 1;
  });
  fastPlane.addHook('onResponse', (_request, _reply, done) => {
    atOnce -= 1;
    done();
  });
  onTestFinished(async () => {
    await routedPlane.close();
    await fastPlane.close();
  });
  const urls = {
    fast: await listenGateway({ data: fastPlane }),
    routed: await listenGateway({ data: routedPlane }),
  };
  return {
    gateway,
    key,
    atOnce: () => atOnce,
    url: urls.fast,
    fast: (request) => exchange(urls.fast, request),
    routed: (request) => exchange(urls.routed, request),
  };
}

/** The same path where every finished answer has been put out by others. */
function forgetful(services: Services): Services['gateway'] {
  const { reporting, clock } = services;
  const memory = { ...reporting.memory, find: () => null };
  return createGateway({ ...reporting, now: clock.now, memory });
}

describe('an answer from the store is the router’s, byte for byte', () => {
  it.each<[string, Ask]>([
    ['JSON', {}],
    ['CSV', { query: `${QUERY}&_format=csv` }],
    ['the platform’s own bytes', { query: `${QUERY}&_format=raw` }],
    ['totals and days', { query: `${QUERY}&_totals=1&_days=1` }],
    ['gzip', { headers: ['accept-encoding: gzip'] }],
    ['no body', { method: 'HEAD' }],
    ['not modified', { headers: ['if-none-match: *'] }],
  ])('%s', async (_what, ask) => {
    const shared = await sceneOf(await withGateway({ logLevel: 'info' }));
    await warm(shared, ask);
    const request = requestOf(shared.key, ask);
    const [fast, routed] = [await shared.fast(request), await shared.routed(request)];
    expect(masked(fast)).toBe(masked(routed).replace('detail=l1', 'detail=store'));
    expect(fast).toMatch(/^HTTP\/1\.1 (200|304) /);
    expect(fast).toContain('detail=store');
    expect(shared.atOnce()).toBe(1);
  });

  it('in the log, in the counts and in what is charged', async () => {
    const at = await sceneOf(await withGateway({ logLevel: 'info' }));
    await warm(at, {});
    await at.fast(requestOf(at.key, {}));
    const [byRouter, byFast] = at.gateway.log.filter(({ msg }) => msg === 'request').slice(-2);
    const same = { reqId: '', time: '', ms: 0 };
    expect({ ...byFast, ...same }).toEqual({ ...byRouter, ...same });
    await at.gateway.services.usage.flush();
    const [today] = (await at.gateway.services.usage.recent('team-1')) ?? [];
    expect(today).toMatchObject({ requests: 3, errors: 0 });
    const used = await at.gateway.call('/gateway/v1/me', { key: at.key });
    expect(used.headers.ratelimit).toContain('r=999997');
  });

  it('one after the other, of requests that were sent ahead', async () => {
    const at = await sceneOf(await withGateway({ logLevel: 'info' }));
    const other = `${QUERY}&_format=ndjson`;
    await warm(at, {});
    await warm(at, { query: other });
    const ask = (query: string) =>
      head(`GET ${REPORT}?${query} HTTP/1.1`, ['host: gateway.test', `x-api-key: ${at.key}`]);
    const all = await at.fast(ask(QUERY) + ask('advertiserId=x') + ask(other) + requestOf(at.key, {}));
    const answers = all.split(/(?=HTTP\/1\.1 \d{3} )/);
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '400', '200', '200']);
    expect(answers[2]).toContain('application/x-ndjson');
    expect(at.atOnce()).toBe(4);
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
    const at = await sceneOf(await gatewayAt(platform, { logLevel: 'info' }));
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

  it('is told as left by its caller, once, and gives back its place', async () => {
    const platform = await startHeldPlatform(sends('{"data":[{"campaign_id":1,"clicks":2}]}'));
    platform.release();
    const at = await sceneOf(await gatewayAt(platform, { logLevel: 'info' }), {
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
    const team = at.gateway.services.directory.team('team-1');
    expect(team && at.gateway.services.limits.teams.concurrencyLeft(team)).toBe(5);
  });
});
