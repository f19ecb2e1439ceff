/**
 * What the history costs, on both stores:
 * - bytes of a day and of a revision, from a sample of whole series (two splits, all of their days, every day restated so
 *   many times after it was over), and what the design's 40 advertisers would take, scaled by the number of series alone;
 * - what it adds to a fetch of 7 days: CPU time of the process, and the time until the answer; two gateways in one process,
 *   one of which keeps history, asked in turn;
 * - how long `_asOf` over all days takes: the first of a process that was just started, and the next ones.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { Agent, request } from 'undici';
import { CLIENT_CORE, end, SERVER_CORE, start, temporaryFolder } from './support/processes.mjs';
import { startRedis } from './support/redis.mjs';
import { startRestatingPlatform } from './support/restating-platform.mjs';

const USAGE = `Usage: npm run bench:history -- [options]

  --only bytes|cost|asof   one part of it; asof needs what bytes has written, and is measured with it
  --advertisers 2          sampled of the 40
  --campaigns 20           of each
  --days 400               of each series
  --revisions 7            of each day
  --rounds 6               of the cost of a fetch, each way in each
  --calls 100              in a round
  --profile DIR            CPU profile of the gateways
  --json
`;
const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    advertisers: { type: 'string', default: '2' },
    campaigns: { type: 'string', default: '20' },
    days: { type: 'string', default: '400' },
    revisions: { type: 'string', default: '7' },
    rounds: { type: 'string', default: '6' },
    calls: { type: 'string', default: '100' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const [ADVERTISERS, CAMPAIGNS, DAYS, REVISIONS, ROUNDS, CALLS] = [
  ...[values.advertisers, values.campaigns, values.days, values.revisions, values.rounds, values.calls],
].map(Number);
/** The design's: 40 advertisers, two splits. */
const ALL_SERIES = 80;
/** Of the fetches whose cost is measured, as in bench/miss. */
const FETCHED = { days: 7, campaigns: 5 };
const WARM_CALLS = 1000;
const AS_OF_CALLS = 9;
const DAY_MS = 86_400_000;
const SPLITS = ['byDate=1', 'byDate=1&byCampaign=1'];

const folder = temporaryFolder();
const say = (line) => process.stderr.write(`${line}\n`);
const agent = new Agent({ connections: 1 });
const iso = (daysAgo) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const target = (advertiser, split, from, to) =>
  `/api/v1/report/campaigns/get?advertiserId=${advertiser}&${split}&dateFrom=${iso(from)}&dateTo=${iso(to)}`;
const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

/** @param settings further ones, as YAML could say them */
function gatewayIn(name, platform, redis, settings = {}) {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const all = {
    report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible: 'always' } } },
    ...(redis === null ? {} : { redis: { prefix: name, timeoutMs: 5000 } }),
    ...settings,
  };
  writeFileSync(join(home, 'settings.yaml'), JSON.stringify(all));
  return {
    GATEWAY_CONFIG: join(home, 'settings.yaml'),
    GATEWAY_DATA_DIR: join(home, 'data'),
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_TOKEN: 'bench-admin-token',
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TOKEN: 'bench-token',
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
  };
}

/** @param envs settings of gateways that are to be in one process */
async function startGateways(envs) {
  const profiled = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const script = new URL('./support/gateways-in-one.mjs', import.meta.url).pathname;
  const running = start(process.execPath, [...profiled, script], {
    core: SERVER_CORE,
    env: { GATEWAYS: JSON.stringify(envs) },
    input: true,
  });
  const lines = createInterface({ input: running.child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error('the gateways have ended');
      if (value.startsWith('> ')) return value.slice(2);
      say(value);
    }
  };
  const gateways = JSON.parse(await next());
  return {
    gateways,
    stop: () => end(running),
    /** CPU time it has used when nothing is under way, microseconds. */
    async settled() {
      running.child.stdin.write('\n');
      return Number(await next());
    },
  };
}

/** @returns how long it took, milliseconds, and its bytes */
async function ask({ url, key }, path, headers = {}) {
  const began = performance.now();
  const { statusCode, body } = await request(url + path, {
    headers: { 'x-api-key': key, ...headers },
    dispatcher: agent,
  });
  const bytes = await body.arrayBuffer();
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${Buffer.from(bytes)}`);
  return { ms: performance.now() - began, bytes: bytes.byteLength };
}

/** What days take in Redis, as bytes of keys and values, whatever they take there. */
async function payloadIn(redis, prefix) {
  const client = new Redis(redis.url);
  const sum = { indexes: 0, earlier: 0, parts: 0 };
  for await (const names of client.scanStream({ match: `${prefix}:*:days:{*}:????-??`, count: 1000 }))
    for (const name of names)
      for (const [field, value] of Object.entries(await client.hgetallBuffer(name))) {
        const part = field === 'i' ? 'indexes' : field.startsWith('e:') ? 'earlier' : 'parts';
        sum[part] += field.length + value.length;
      }
  await client.quit();
  return sum;
}

const onDisk = (path) => Number(execFileSync('du', ['-sB1', path]).toString().split('\t')[0]);

async function fill(running, platform) {
  const [gateway] = running.gateways;
  let middleMs = 0;
  for (let round = 0; round < REVISIONS; round++) {
    for (let advertiser = 1; advertiser <= ADVERTISERS; advertiser++)
      for (const split of SPLITS)
        await ask(gateway, target(advertiser, split, DAYS, 1), { 'cache-control': 'no-cache' });
    await running.settled();
    if (round === Math.floor(REVISIONS / 2)) middleMs = Date.now();
    platform.restate();
    say(`  ${round + 1} of ${REVISIONS} revisions written`);
  }
  return middleMs;
}

/** @returns the time of the first `_asOf` of a new process, and of the next ones, each of another moment */
async function timeAsOf(env, middleMs) {
  const running = await startGateways([env]);
  const times = [];
  for (let n = 0; n <= AS_OF_CALLS; n++) {
    const moment = new Date(middleMs + n).toISOString();
    const path = `${target(1, SPLITS[1], DAYS, 1)}&_asOf=${moment}`;
    times.push(await ask(running.gateways[0], path));
  }
  await running.stop();
  const [cold, ...warm] = times;
  return { coldMs: cold.ms, warmMs: middle(warm.map(({ ms }) => ms)), bytes: cold.bytes };
}

async function measureBytes(redis) {
  const platform = await startRestatingPlatform({ campaigns: CAMPAIGNS });
  const name = redis === null ? 'lmdb' : 'redis';
  const env = gatewayIn(name, platform, redis);
  const running = await startGateways([env]);
  const middleMs = await fill(running, platform);
  await running.stop();
  const history = join(folder, name, 'data', 'history');
  const bytes = redis === null ? onDisk(history) : (await redis.sizeOf(`${name}:*:days*`)).bytes;
  const payload = redis === null ? null : await payloadIn(redis, name);
  const asOf = await timeAsOf(env, middleMs);
  platform.close();
  return { store: name, bytes, payload, asOf };
}

const FETCHES = [
  { title: 'days that were never seen', again: false, restated: false },
  { title: 'days that are as before', again: true, restated: false },
  { title: 'days that were restated', again: true, restated: true },
];

/**
 * A round of calls: CPU time of the process and middle time of an answer, of one call. Each begins when nothing is under way
 * behind the one before, so that an answer takes longer only where it waits for its own history.
 */
async function roundOf(running, gateway, paths, headers) {
  const before = await running.settled();
  let after = before;
  const times = [];
  for (const path of paths) {
    times.push((await ask(gateway, path, headers)).ms);
    after = await running.settled();
  }
  return { cpuUs: (after - before) / paths.length, ms: middle(times) };
}

async function measureCost(redis) {
  const store = redis === null ? 'lmdb' : 'redis';
  const platform = await startRestatingPlatform({ campaigns: FETCHED.campaigns });
  const kinds = [true, false];
  const envs = kinds.map((enabled) =>
    gatewayIn(`${store}-${enabled ? 'with' : 'without'}`, platform, redis, { history: { enabled } }),
  );
  const running = await startGateways(envs);
  const path = (advertiser) => target(advertiser, SPLITS[1], FETCHED.days, 1);
  let advertiser = 0;
  const some = (count) => Array.from({ length: count }, () => path(++advertiser));
  for (const gateway of running.gateways) await roundOf(running, gateway, some(WARM_CALLS), {});
  const rows = [];
  for (const { title, again, restated } of FETCHES) {
    const found = kinds.map(() => []);
    const seen = some(CALLS);
    for (const gateway of running.gateways) if (again) await roundOf(running, gateway, seen, {});
    for (let round = 0; round <= ROUNDS; round++) {
      if (restated) platform.restate();
      const paths = again ? seen : some(CALLS);
      const headers = again ? { 'cache-control': 'no-cache' } : {};
      // Who goes second finds a platform, and a machine, that are warm.
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      for (const at of order) found[at].push(await roundOf(running, running.gateways[at], paths, headers));
    }
    // The first round is for warming up.
    const each = (at, member) => found[at].slice(1).map((one) => one[member]);
    const added = each(0, 'cpuUs').map((us, at) => us - each(1, 'cpuUs')[at]);
    const [cpuWith, cpuWithout] = [0, 1].map((at) => middle(each(at, 'cpuUs')));
    const [msWith, msWithout] = [0, 1].map((at) => middle(each(at, 'ms')));
    rows.push({ store, title, cpuWith, cpuWithout, added: middle(added), msWith, msWithout });
    say(`  ${store}: ${title} measured`);
  }
  await running.stop();
  platform.close();
  return rows;
}

const kb = (bytes) => (bytes / 1000).toFixed(2);
const mb = (bytes) => (bytes / 1e6).toFixed(0);
const print = (lines) => process.stdout.write(`${lines.join('\n')}\n\n`);

function printBytes(found) {
  const days = ADVERTISERS * SPLITS.length * DAYS;
  const scale = ALL_SERIES / (ADVERTISERS * SPLITS.length);
  print([
    `${ADVERTISERS} advertisers x ${SPLITS.length} splits x ${DAYS} days x ${REVISIONS} revisions, ${CAMPAIGNS} campaigns; scaled by ${scale} to ${ALL_SERIES} series:`,
    '',
    '| | kB a day | kB a revision | MB, 40 advertisers |',
    '|---|--:|--:|--:|',
    ...found.flatMap(({ store, bytes, payload }) =>
      [
        [store === 'lmdb' ? 'data folder, on the disk' : 'Redis, in memory', bytes],
        ...Object.entries(payload ?? {}).map(([part, of]) => [`… ${part} alone`, of]),
      ].map(
        ([name, all]) =>
          `| ${name} | ${kb(all / days)} | ${kb(all / days / REVISIONS)} | ${mb(all * scale)} |`,
      ),
    ),
  ]);
  print([
    `_asOf over ${DAYS} days by campaign, ${((found[0]?.asOf.bytes ?? 0) / 1e6).toFixed(1)} MB of JSON:`,
    '',
    '| | first of a process, ms | then, ms |',
    '|---|--:|--:|',
    ...found.map(
      ({ store, asOf }) =>
        `| ${store === 'lmdb' ? 'data folder' : 'Redis'} | ${asOf.coldMs.toFixed(0)} | ${asOf.warmMs.toFixed(0)} |`,
    ),
  ]);
}

function printCost(rows) {
  print([
    `A fetch of ${FETCHED.days} days, ${FETCHED.campaigns} campaigns; middle of ${ROUNDS} rounds of ${CALLS} calls:`,
    '',
    '| Store | | CPU with history, µs | without | ratio | added, µs | answer with, ms | without | ratio |',
    '|---|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(
      ({ store, title, cpuWith, cpuWithout, added, msWith, msWithout }) =>
        `| ${store === 'lmdb' ? 'data folder' : 'Redis'} | ${title} | ${cpuWith.toFixed(0)} | ${cpuWithout.toFixed(0)} | ${(cpuWith / cpuWithout).toFixed(2)} | ${added.toFixed(0)} | ${msWith.toFixed(2)} | ${msWithout.toFixed(2)} | ${(msWith / msWithout).toFixed(2)} |`,
    ),
  ]);
}

const redis = await startRedis({ folder, core: CLIENT_CORE });
const wants = (part) => values.only === undefined || values.only === part;
const bytes = [];
const cost = [];
for (const store of [null, redis]) {
  if (wants('bytes') || wants('asof')) {
    say(`bytes, ${store === null ? 'data folder' : 'Redis'}`);
    bytes.push(await measureBytes(store));
  }
  if (wants('cost')) cost.push(...(await measureCost(store)));
}
await end(redis);
await agent.close();
if (values.json) process.stdout.write(`${JSON.stringify({ bytes, cost })}\n`);
else {
  if (bytes.length > 0) printBytes(bytes);
  if (cost.length > 0) printCost(cost);
}
