/** Spans of a real gateway on Redis, as a collector gets them; and that without a collector nothing is loaded. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.js';
import { openRedisScene } from '../support/on-redis.js';
import { logLines, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = '?advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-03';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SERVER = 2;
const CLIENT = 3;

/** The spans of the request with this id, its own first, once they are there. */
async function spansOf({ spans }: Collector, requestId: string | undefined): Promise<CollectedSpan[]> {
  expect(requestId).toBeTypeOf('string');
  const find = () => spans.find(({ attributes }) => attributes['dsp_gateway.request_id'] === requestId);
  const root = await waitFor(`spans of ${requestId}`, find);
  return [root, ...spans.filter((span) => span.traceId === root.traceId && span !== root)];
}

/** Every span but the first lies below another of its trace, and within its time. */
function expectTree([root, ...rest]: readonly CollectedSpan[]): void {
  const all = new Map([root, ...rest].map((span) => [span?.spanId, span]));
  expect(all.size).toBe(rest.length + 1);
  for (const span of rest) {
    const parent = all.get(span.parentSpanId ?? '');
    expect(parent, `the parent of ${span.name}`).toBeDefined();
    expect(span.startNs >= (parent?.startNs ?? 0n) && span.endNs <= (parent?.endNs ?? 0n)).toBe(true);
    expect(span.endNs >= span.startNs).toBe(true);
  }
}

const namesOf = (spans: readonly CollectedSpan[], kind: number) =>
  spans.filter((span) => span.kind === kind).map(({ name }) => name);

it('a miss, a hit and a joined request are a tree of spans each: stages, platform calls, calls of Redis', async () => {
  const collector = await startCollector();
  const { platform, env } = await openRedisScene({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SERVICE_NAME: 'reports',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=a%20b',
  });
  const gateway = await startGateway(env);
  const { key } = await newTeam(gateway, { id: 'growth' });
  const get = (query: string, headers: Record<string, string> = {}) =>
    ask(gateway.data + REPORT + query, { key, headers });

  const secret = '&campaignIds[]=7001';
  const miss = await get(QUERY + secret, {
    traceparent: `00-${TRACE}-${PARENT}-01`,
    tracestate: 'vendor=value',
  });
  expect(miss.status).toBe(200);
  const missed = await spansOf(collector, miss.headers['x-request-id']);
  const [root] = missed;
  expect(root).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    traceState: 'vendor=value',
    name: `GET ${REPORT}`,
    kind: SERVER,
    status: 0,
    attributes: {
      'http.request.method': 'GET',
      'http.route': REPORT,
      'url.path': REPORT,
      'http.response.status_code': 200,
      'dsp_gateway.plane': 'data',
      'dsp_gateway.team': 'growth',
      'dsp_gateway.outcome': 'miss',
    },
    resource: { 'service.name': 'reports', 'deployment.environment.name': 'test' },
  });
  expectTree(missed);
  const stages = 'admit understand look-up decide acquire lock fetch keep render'.split(' ');
  expect(namesOf(missed, 1)).toEqual(expect.arrayContaining(stages));
  const calls = missed.filter(({ attributes }) => 'dsp_gateway.attempt' in attributes);
  expect(calls.length).toBe(root?.attributes['dsp_gateway.platform_calls']);
  expect(calls[0]).toMatchObject({
    kind: CLIENT,
    name: 'GET',
    attributes: {
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
      'dsp_gateway.attempt': 1,
      'dsp_gateway.call_outcome': 'answer',
    },
  });
  const fetches = missed.filter(({ name }) => name === 'fetch').map(({ spanId }) => spanId);
  for (const call of calls) expect(fetches).toContain(call.parentSpanId);
  expect(missed.filter(({ attributes }) => attributes['db.system.name'] === 'redis').length).toBeGreaterThan(
    0,
  );
  expect(JSON.stringify(missed, (_, value) => (typeof value === 'bigint' ? 0 : value))).not.toMatch(
    /7001|dateFrom|Bearer|dgw_/,
  );
  const line = logLines(gateway).find(({ reqId }) => reqId === miss.headers['x-request-id']);
  expect(line).toMatchObject({ msg: 'request', traceId: TRACE });

  const hit = await spansOf(collector, (await get(QUERY + secret)).headers['x-request-id']);
  expect(hit[0]).toMatchObject({
    parentSpanId: null,
    attributes: { 'dsp_gateway.outcome': 'hit', 'dsp_gateway.platform_calls': 0 },
  });
  expect(hit[0]?.traceId).not.toBe(TRACE);
  expectTree(hit);

  await simulatorOf(platform.url).set({ latencyMs: 300 });
  const other = '?advertiserId=2&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-03';
  const both = await Promise.all([get(other), get(other)]);
  const trees = await Promise.all(both.map(({ headers }) => spansOf(collector, headers['x-request-id'])));
  for (const tree of trees) expectTree(tree);
  expect(trees.map(([first]) => first?.attributes['dsp_gateway.outcome']).sort()).toEqual([
    'collapsed',
    'miss',
  ]);
  const joined = trees.find(([first]) => first?.attributes['dsp_gateway.outcome'] === 'collapsed') ?? [];
  expect(namesOf(joined, 1)).toContain('wait');

  // What a caller says of its trace is for the gateway, and no business of the platform.
  for (const { headers } of await simulatorOf(platform.url).calls())
    expect(Object.keys(headers).filter((name) => /^(trace|baggage|b3)/.test(name))).toEqual([]);
  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-collector-key': 'a b' } });
});

it('what no caller may say of its trace is ignored, refusals are told, and probes are not traced', async () => {
  const collector = await startCollector();
  const platform = await startPlatform();
  const gateway = await startGateway({
    ...platform.env,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
  });
  const invalid = [
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    'x'.repeat(3000),
  ];
  const answers = await Promise.all(
    invalid.map((traceparent) =>
      ask(gateway.data + REPORT + QUERY, { headers: { traceparent, tracestate: 'a=b' } }),
    ),
  );
  for (const { headers } of answers) {
    const [root] = await spansOf(collector, headers['x-request-id']);
    expect(root).toMatchObject({
      parentSpanId: null,
      traceState: null,
      attributes: { 'http.response.status_code': 401, 'error.type': 'missing_api_key' },
    });
    expect(root?.traceId).not.toBe(TRACE);
  }
  // Of a version to come the first four parts are read; a caller that does not sample is followed.
  const later = await ask(gateway.data + REPORT, {
    headers: { traceparent: `cc-${TRACE}-${PARENT}-01-more` },
  });
  expect((await spansOf(collector, later.headers['x-request-id']))[0]).toMatchObject({
    parentSpanId: PARENT,
  });
  const unsampled = await ask(gateway.data + REPORT, {
    headers: { traceparent: `00-${TRACE}-${PARENT}-00` },
  });
  await ask(`${gateway.data}/healthz`);
  const gated = await ask(`${gateway.data}/a//b`);
  expect((await spansOf(collector, gated.headers['x-request-id']))[0]?.attributes).toMatchObject({
    'url.path': '/a//b',
    'error.type': 'invalid_path',
  });
  await gateway.end('SIGTERM');
  const ids = collector.spans.map(({ attributes }) => attributes['dsp_gateway.request_id']);
  expect(ids).not.toContain(unsampled.headers['x-request-id']);
  expect(collector.spans.filter(({ attributes }) => attributes['url.path'] === '/healthz')).toEqual([]);
  expect(new Set(collector.requests.map(({ path }) => path))).toEqual(new Set(['/own/path']));
});

it('workers send theirs, and what is held back is sent at the stop', async () => {
  const collector = await startCollector();
  const { env } = await openRedisScene();
  const gateway = await startGateway({
    ...env,
    WORKERS: '2',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
  });
  const answer = await ask(`${gateway.data}/gateway/v1/me`);
  const admin = await ask(`${gateway.admin}/admin/v1/teams`, { bearer: gateway.adminToken });
  expect([answer.status, admin.status]).toEqual([401, 200]);
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
  const pidOf = async (id: string | undefined) => (await spansOf(collector, id))[0]?.resource['process.pid'];
  const pids = [await pidOf(answer.headers['x-request-id']), await pidOf(admin.headers['x-request-id'])];
  expect(pids[0]).not.toBe(pids[1]);
  expect(Number(pids[1])).toBe(gateway.pid);
});

it('a collector that fails, or is not there, fails no request, and is told of once', async () => {
  const platform = await startPlatform();
  const gateway = await startGateway({
    ...platform.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:secret-of-it@127.0.0.1:9',
  });
  const { key } = await newTeam(gateway, { id: 'growth' });
  const told = () => logLines(gateway).filter(({ msg }) => msg?.includes('OpenTelemetry collector'));
  expect((await ask(gateway.data + REPORT + QUERY, { key })).status).toBe(200);
  await waitFor('the line about the collector', () => told().length > 0, gateway);
  for (let at = 0; at < 20; at += 1)
    expect((await ask(gateway.data + REPORT + QUERY, { key })).status).toBe(200);
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(told()).toHaveLength(1);
  expect(gateway.stdout + gateway.stderr).not.toContain('secret-of-it');
});

it('without a collector none of its packages is loaded', async () => {
  const folder = await tempFolder();
  const list = join(folder, 'list.cjs');
  await writeFile(
    list,
    `process.on('exit', () => {
      const of = Object.keys(require.cache).map((path) => /@opentelemetry.([^/\\\\]+)/.exec(path)?.[1]);
      process.stderr.write('LOADED ' + JSON.stringify([...new Set(of)].filter(Boolean).sort()) + '\\n');
    });`,
  );
  const platform = await startPlatform();
  const loaded = async (env: Record<string, string>) => {
    const gateway = await startGateway({ ...platform.env, NODE_OPTIONS: `--require ${list}`, ...env });
    await gateway.end('SIGTERM');
    return JSON.parse(/LOADED (.*)/.exec(gateway.stderr)?.[1] ?? 'null') as string[];
  };
  // The interface alone, which prom-client has of its own.
  const off = await loaded({});
  expect(off.filter((name) => name !== 'api')).toEqual([]);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  expect(await loaded({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toEqual(off);
  expect(await loaded(endpoint)).toEqual(expect.arrayContaining(['sdk-trace', 'exporter-trace-otlp-http']));
});
