/**
 * What one team's backfill costs another team's single calls, through the real gateway and the simulator.
 *
 * The backfill comes in bursts, from as many connections as its team may have; between them there is quiet. The single
 * calls are measured in both, one after the other, so that what else the machine does is in both numbers. None of the
 * calls is in the cache. The backfill's own team makes the same single calls, to show what they would wait without
 * turns by team.
 *
 * Usage: npm run build && node bench/fairness.mjs [--calls 10000] [--connections 256] [--latency 50] [--bursts 10]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { loadConfig } from '../dist/modules/config/load.js';
import { run } from '../dist/modules/server/run.js';
import { startSimulator } from '../dist/modules/simulator/simulator.js';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '256' },
    latency: { type: 'string', default: '50' },
    bursts: { type: 'string', default: '10' },
  },
});
const [calls, connections, latencyMs, bursts] = [
  values.calls,
  values.connections,
  values.latency,
  values.bursts,
].map(Number);

const DAY_MS = 86_400_000;
const iso = (day) => new Date(Date.parse('2020-01-01T00:00:00Z') + day * DAY_MS).toISOString().slice(0, 10);

/** A question that was not asked before: another pair of days each time. */
function* questions() {
  for (let length = 1; ; length++)
    for (let day = 0; day < 2000; day++)
      yield `advertiserId=1&byCampaign=1&dateFrom=${iso(day)}&dateTo=${iso(day + length)}`;
}

const folder = mkdtempSync(join(tmpdir(), 'dsp-gateway-bench-'));
const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0, latencyMs } });
const gateway = await run({
  config: loadConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'error',
    PLATFORM_BASE_URL: simulator.url,
    PLATFORM_TOKEN: simulator.token,
    GATEWAY_DATA_DIR: join(folder, 'data'),
  }),
  proxy: {},
  planes: ['data', 'admin'],
});
/** Each client has connections of its own, as apps do. */
const agents = [connections, 1, 1].map((count) => new Agent({ connections: count, pipelining: 1 }));
const [crowd, alone, own] = agents;
const asked = questions();

async function createKey(team) {
  const post = async (path, body) => {
    const response = await fetch(gateway.urls.get('admin') + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const limits = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 100_000_000, maxConcurrent: 10_000 };
  await post('/admin/v1/teams', { id: team, advertisers: '*', limits });
  return (await post(`/admin/v1/teams/${team}/keys`, {})).key;
}

async function ask(key, dispatcher) {
  const startedMs = performance.now();
  const { statusCode, body } = await request(
    `${gateway.urls.get('data')}/api/v1/report/campaigns/get?${asked.next().value}`,
    { dispatcher, headers: { 'x-api-key': key } },
  );
  await body.dump();
  if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
  return performance.now() - startedMs;
}

/** One burst; `underWay` says whether calls of it still wait. */
function startBurst(key, count) {
  let left = count;
  const connection = async () => {
    while (left > 0) {
      left -= 1;
      await ask(key, crowd);
    }
  };
  const done = Promise.all(Array.from({ length: connections }, connection));
  return { underWay: () => left > 0, done };
}

const [backfill, single] = [await createKey('backfill'), await createKey('single')];
const measured = { quiet: [], beside: [], within: [] };
for (let warmUp = 0; warmUp < 50; warmUp++) await ask(single, alone);
const startedMs = performance.now();
for (let burst = 0; burst < bursts; burst++) {
  const perBurst = Math.round(calls / bursts);
  const { underWay, done } = startBurst(backfill, perBurst);
  await sleep(4 * latencyMs);
  const ownCalls = (async () => {
    while (underWay()) measured.within.push(await ask(backfill, own));
  })();
  let singles = 0;
  while (underWay()) {
    measured.beside.push(await ask(single, alone));
    singles += 1;
  }
  await Promise.all([done, ownCalls]);
  for (let quiet = 0; quiet < singles; quiet++) measured.quiet.push(await ask(single, alone));
}
const seconds = (performance.now() - startedMs) / 1000;
for (const agent of agents) await agent.close();
await gateway.stop();
await simulator.close();
rmSync(folder, { recursive: true });

const at = (list, share) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const rows = [
  ['another team, no backfill', measured.quiet],
  ['another team, during the backfill', measured.beside],
  ["the backfill's own team, during it", measured.within],
].map(([name, list]) => {
  const [p50, p99, most] = [at(list, 0.5), at(list, 0.99), at(list, 1)];
  const quiet = at(measured.quiet, 0.5);
  return `| ${name} | ${list.length} | ${p50.toFixed(0)} | ${p99.toFixed(0)} | ${most.toFixed(0)} | ${(p50 / quiet).toFixed(2)} |`;
});
process.stdout.write(`${calls} calls in ${bursts} bursts from ${connections} connections, ${latencyMs} ms at the platform, 8 calls at once; ${seconds.toFixed(0)} s

| Single calls of | Calls | p50 ms | p99 ms | Longest ms | p50 / quiet |
|---|--:|--:|--:|--:|--:|
${rows.join('\n')}
`);
