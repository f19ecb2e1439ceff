/**
 * Does a cached hit wait for somebody's big miss? Latency of a cached report at a steady rate: idle, then while 20
 * answers of 28 MB are fetched, parsed, normalised, split, kept and sent, by another gateway on the same machine, which
 * shows what sharing its cores costs, and then by this one. Beside it: how late the event loop was, how long its thread
 * ran and waited for a core, and the process's private memory before, right after, and after a rest.
 *
 * Usage: npm run bench:big -- [--answers 20] [--rate 200] [--seconds 10] [--rest 60] [--redis redis://…, an empty one]
 *   [--again: each is asked a second time, and comes from the store] [--profile DIR] [--json]
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startGateway } from './support/gateway.mjs';
import { end, firstLine, privateBytes, startNode, temporaryFolder, threadMs } from './support/processes.mjs';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    answers: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '10' },
    rest: { type: 'string', default: '60' },
    redis: { type: 'string' },
    again: { type: 'boolean', default: false },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [RATE, ANSWERS, SECONDS, REST] = [values.rate, values.answers, values.seconds, values.rest].map(Number);
const MIB = 1024 ** 2;

const folder = temporaryFolder();
const script = (name) => new URL(`./support/${name}.mjs`, import.meta.url).pathname;
const platform = startNode([script('big-platform')]);
const platformUrl = await firstLine(platform);

/** Two gateways share a Redis, and nothing in it. */
function storeOf(name) {
  if (values.redis === undefined) return {};
  const config = join(folder, `${name}.yaml`);
  writeFileSync(config, `redis:\n  prefix: bench-${name}\n`);
  return { REDIS_URL: values.redis, GATEWAY_CONFIG: config };
}

const startOne = (name, profile = null) =>
  startGateway({
    folder: join(folder, name),
    platform: platformUrl,
    env: storeOf(name),
    watched: true,
    profile,
  });
const gateway = await startOne('measured', values.profile);
const other = await startOne('other');
const agent = new Agent({ connections: 64 });

const day = (daysAgo) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const reportUrl = ({ url }, advertiser, from, to) =>
  `${url}/api/v1/report/campaigns/get?advertiserId=${advertiser}&byDate=1&byCampaign=1&dateFrom=${from}&dateTo=${to}`;

async function askCached() {
  const { statusCode, body } = await request(reportUrl(gateway, 1, day(12), day(10)), {
    dispatcher: agent,
    headers: { 'x-api-key': gateway.keys[0] },
  });
  await body.dump();
  if (statusCode !== 200) throw new Error(`the gateway answered ${statusCode}`);
}

/** Asks the cached report at a steady rate until `over` resolves. @returns latencies, ms */
async function askUntil(over) {
  const latencies = [];
  const pending = new Set();
  let running = true;
  void over.then(() => {
    running = false;
  });
  let next = performance.now();
  while (running) {
    const due = next;
    const one = askCached().then(() => latencies.push(performance.now() - due));
    pending.add(one);
    void one.finally(() => pending.delete(one));
    next += 1000 / RATE;
    await sleep(Math.max(0, next - performance.now()));
  }
  await Promise.all(pending);
  return latencies;
}

async function measure(name, work) {
  await gateway.loop();
  const [before, startedMs] = [threadMs(gateway.pid), performance.now()];
  const over = work();
  const sorted = (await askUntil(over)).sort((a, b) => a - b);
  const after = threadMs(gateway.pid);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return {
    ...{ name, seconds: (performance.now() - startedMs) / 1000, hits: sorted.length, bytes: await over },
    ...{ p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) },
    ...{ ranMs: after.ran - before.ran, waitedMs: after.waited - before.waited },
    loop: await gateway.loop(),
  };
}

/** In a process of its own: reading large bodies here would be measured as the gateway's slowness. */
async function bigAnswers(from) {
  const urls = Array.from({ length: ANSWERS }, (_, index) => reportUrl(from, 100 + index, day(100), day(31)));
  const caller = startNode([script('big-caller')], {
    env: { CALLS: JSON.stringify(urls), KEY: from.keys[0] },
  });
  return Number(await firstLine(caller));
}

await askCached();
await askUntil(sleep(3000));
const rows = [await measure('idle', () => sleep(SECONDS * 1000))];
rows.push(await measure('while another gateway on this machine processes them', () => bigAnswers(other)));
await end(other);
const memory = { before: privateBytes(gateway.pid) };
rows.push(await measure('while this gateway processes them', () => bigAnswers(gateway)));
if (values.again) rows.push(await measure('while it gives them from the store', () => bigAnswers(gateway)));
memory.after = privateBytes(gateway.pid);
await sleep(REST * 1000);
memory.rested = privateBytes(gateway.pid);
memory.parts = (await gateway.loop()).memory;
await end(gateway);
await end(platform);
await agent.close();

const [idle, beside, busy] = rows;
const result = {
  ...{
    answers: ANSWERS,
    bytes: busy.bytes,
    rate: RATE,
    store: values.redis === undefined ? 'embedded' : 'Redis',
  },
  ...{ cores: availableParallelism(), rows, memory },
  ratio: { idle: busy.p99Ms / idle.p99Ms, beside: busy.p99Ms / beside.p99Ms },
};

function table() {
  const cells = ({ name, hits, p50Ms, p99Ms, maxMs, ranMs, waitedMs, seconds, loop }) =>
    [
      ...[name, hits, p50Ms.toFixed(1), p99Ms.toFixed(1), maxMs.toFixed(0)],
      ...[
        loop.p99Ms.toFixed(1),
        loop.maxMs.toFixed(0),
        `${loop.gcMs.toFixed(0)} (${loop.gcMaxMs.toFixed(0)})`,
      ],
      ...[(ranMs / seconds).toFixed(0), (waitedMs / seconds).toFixed(0)],
    ].join(' | ');
  return [
    '| | hits | p50 ms | p99 ms | max ms | loop late, p99 ms | max ms | GC ms (longest) | ran, ms/s | waited for a core, ms/s |',
    '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map((row) => `| ${cells(row)} |`),
  ].join('\n');
}

const mib = (bytes) => (bytes / MIB).toFixed(0);
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
else
  process.stdout.write(`${ANSWERS} answers of ${(busy.bytes / 1e6).toFixed(1)} MB, hits at ${RATE} a second, ${result.store}, ${result.cores} cores

${table()}

p99 busy / idle: ${result.ratio.idle.toFixed(2)}; busy / beside: ${result.ratio.beside.toFixed(2)}
Private memory: ${mib(memory.before)} MiB before, ${mib(memory.after)} after, ${mib(memory.rested)} after ${REST} s of rest
`);
