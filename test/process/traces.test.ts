/** Spans of a real gateway on Redis, as a collector gets them; and that without a collector nothing is loaded. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Answer, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.js';
import { openRedisScene } from '../support/on-redis.js';
import { type Gateway, logLines, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = '?advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-03';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SERVER = 2;
const CLIENT = 3;

/** The spans of an answered request, its own first. They are there when the gateway has stopped: it sends what it holds. */
function spansOf({ spans }: Collector, { headers }: Answer): CollectedSpan[] {
  const id = headers['x-request-id'] as string;
  const root = spans.find(({ attributes }) => attributes['dsp_gateway.request_id'] === id);
  if (root === undefined) throw new Error(`no span of ${id}`);
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
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
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
  const repeated = await get(QUERY + secret);
  await simulatorOf(platform.url).set({ latencyMs: 300 });
  const other = '?advertiserId=2&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-03';
  const both = await Promise.all([get(other), get(other)]);
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });

  const missed = spansOf(collector, miss);
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

  const hit = spansOf(collector, repeated);
  expect(hit[0]).toMatchObject({
    parentSpanId: null,
    attributes: { 'dsp_gateway.outcome': 'hit', 'dsp_gateway.platform_calls': 0 },
  });
  expect(hit[0]?.traceId).not.toBe(TRACE);
  expectTree(hit);

  const trees = both.map((answer) => spansOf(collector, answer));
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

it('workers ignore what no caller may say of its trace, tell refusals, and trace no probes', async () => {
  const collector = await startCollector();
  const { env } = await openRedisScene({ WORKERS: '2' });
  const gateway = await startGateway({
    ...env,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
  });
  const get = (path: string, headers: Record<string, string> = {}) => ask(gateway.data + path, { headers });
  const invalid = [
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    'x'.repeat(3000),
  ];
  const answers = await Promise.all(
    invalid.map((traceparent) => get(REPORT + QUERY, { traceparent, tracestate: 'a=b' })),
  );
  // Of a version to come the first four parts are read; a caller that does not sample is followed.
  const later = await get(REPORT, { traceparent: `cc-${TRACE}-${PARENT}-01-more` });
  const unsampled = await get(REPORT, { traceparent: `00-${TRACE}-${PARENT}-00` });
  await get('/healthz');
  const gated = await get('/a//b');
  const admin = await ask(`${gateway.admin}/admin/v1/teams`, { bearer: gateway.adminToken });
  // What is held back is sent at the stop.
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });

  for (const answer of answers) {
    const [root] = spansOf(collector, answer);
    expect(root).toMatchObject({
      parentSpanId: null,
      traceState: null,
      attributes: { 'http.response.status_code': 401, 'error.type': 'missing_api_key' },
    });
    expect(root?.traceId).not.toBe(TRACE);
  }
  expect(spansOf(collector, later)[0]).toMatchObject({ parentSpanId: PARENT });
  expect(spansOf(collector, gated)[0]?.attributes).toMatchObject({
    'url.path': '/a//b',
    'error.type': 'invalid_path',
  });
  expect(() => spansOf(collector, unsampled)).toThrow('no span');
  expect(collector.spans.filter(({ attributes }) => attributes['url.path'] === '/healthz')).toEqual([]);
  expect(new Set(collector.requests.map(({ path }) => path))).toEqual(new Set(['/own/path']));
  const pidOf = (answer: Answer) => spansOf(collector, answer)[0]?.resource['process.pid'];
  expect(pidOf(admin)).toBe(gateway.pid);
  expect(pidOf(gated)).not.toBe(gateway.pid);
});

it('a collector that fails fails no request, and is told of once; without one none of its packages is loaded', async () => {
  const [platform, collector, folder] = await Promise.all([startPlatform(), startCollector(), tempFolder()]);
  // Not to be tried again: what may be is tried for ten seconds before it is told of.
  collector.answer(400);
  const list = join(folder, 'list.cjs');
  await writeFile(
    list,
    `process.on('exit', () => {
      const of = Object.keys(require.cache).map((path) => /@opentelemetry.([^/\\\\]+)/.exec(path)?.[1]);
      process.stderr.write('LOADED ' + JSON.stringify([...new Set(of)].filter(Boolean).sort()) + '\\n');
    });`,
  );
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.replace('//', '//user:secret-of-it@') };
  const start = (env: Record<string, string>) =>
    startGateway({ ...platform.env, NODE_OPTIONS: `--require ${list}`, ...env });
  const [on, off] = await Promise.all([start(endpoint), start({})]);
  const loadedBy = async (gateway: Gateway) => {
    expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    return JSON.parse(/LOADED (.*)/.exec(gateway.stderr)?.[1] ?? 'null') as string[];
  };
  const { key } = await newTeam(on, { id: 'growth' });
  const told = () => logLines(on).filter(({ msg }) => msg?.includes('OpenTelemetry collector'));
  expect((await ask(on.data + REPORT + QUERY, { key })).status).toBe(200);
  await waitFor('the line about the collector', () => told().length > 0, on);
  for (let at = 0; at < 20; at += 1) expect((await ask(on.data + REPORT + QUERY, { key })).status).toBe(200);
  expect(await loadedBy(on)).toEqual(expect.arrayContaining(['sdk-trace', 'exporter-trace-otlp-http']));
  expect(told()).toHaveLength(1);
  expect(on.stdout + on.stderr).not.toContain('secret-of-it');
  // The interface alone, which prom-client has of its own.
  expect((await loadedBy(off)).filter((name) => name !== 'api')).toEqual([]);
});
