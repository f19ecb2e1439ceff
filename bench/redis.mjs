/**
 * What reports take in Redis, cache and history, and what a hit from there costs: bytes and keys for each report (cache and
 * history: of their keys, as Redis counts them; in all: what the data of the server grew by), commands and round trips of
 * a hit and of a miss, and requests a second of hits that are not in the process's own memory, beside those that are and
 * beside bare node:http. 4096 different reports of 8 kB, split by day, 64 connections; alternating rounds.
 *
 * Usage: npm run bench:redis -- [--seconds 3] [--rounds 3, 0 for the bytes alone] [--days 9] [--reports 4096]
 *   [--profile DIR] [--json]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { startGateway } from './support/gateway.mjs';
import { targetsOf } from './support/hit-peers.mjs';
import {
  CLIENT_CORE,
  end,
  firstLine,
  SERVER_CORE,
  startNode,
  temporaryFolder,
} from './support/processes.mjs';
import { commandsOf, startRedis } from './support/redis.mjs';
import { load } from './support/wrk.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    days: { type: 'string', default: '9' },
    // So many that a process keeps few of them, neither finished nor as it has read them.
    reports: { type: 'string', default: '4096' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const TEAMS = 8;
const CALLERS = 8;
/** Asked one after the other, for the trips of each. */
const COUNTED = 256;
const here = (name) => new URL(`./support/${name}`, import.meta.url).pathname;
const folder = temporaryFolder();
const targets = targetsOf(Number(values.days), Number(values.reports));
const say = (line) => process.stderr.write(`${line}\n`);

const redis = await startRedis({ folder, core: CLIENT_CORE });
const platform = startNode([here('platform.mjs')], { core: CLIENT_CORE });
const platformUrl = await firstLine(platform);

/** @param l1MaxBytes of its own memory for finished bodies */
function gatewayWith(name, l1MaxBytes, profile = null) {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(
    path,
    `redis:\n  prefix: ${name}\n  timeoutMs: 5000\ncache:\n  l1MaxBytes: ${l1MaxBytes}\nreport:\n  endpoints:\n    campaigns/get: {divisible: always}\n`,
  );
  return startGateway({
    folder: join(folder, name),
    platform: platformUrl,
    ...{ core: SERVER_CORE, teams: TEAMS, profile },
    env: { GATEWAY_CONFIG: path, REDIS_URL: redis.url },
  });
}

async function ask(gateway, all, callers = CALLERS) {
  let bytes = 0;
  const outcomes = new Set();
  const left = [...all].reverse();
  const caller = async () => {
    for (let target = left.pop(); target !== undefined; target = left.pop()) {
      const answer = await request(gateway.url + target, { headers: { 'x-api-key': gateway.keys[0] } });
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
      const { byteLength } = await answer.body.arrayBuffer();
      bytes += byteLength;
      outcomes.add(answer.headers['cache-status'].replace(/ttl=\d+/, 'ttl'));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { bytes, outcomes: [...outcomes] };
}

/** Of each of these requests: what Redis read and was told, the gateway's own upkeep among it. */
async function trips(gateway, all) {
  const before = await redis.counts();
  const { outcomes } = await ask(gateway, all, 1);
  const after = await redis.counts();
  const each = (member) => (after[member] - before[member]) / all.length;
  return { outcomes, roundTrips: each('reads'), commands: commandsOf(before, after, all.length) };
}

const stored = await gatewayWith('stored', 1_048_576, values.profile ?? null);
const inMemory = await gatewayWith('memory', 134_217_728);
const bare = startNode([here('peers.mjs'), 'node-http', platformUrl, targets[0]], { core: SERVER_CORE });
const bareUrl = await firstLine(bare);

const [some, others] = [targets.slice(0, COUNTED), targets.slice(COUNTED)];
const before = await redis.counts();
const miss = await trips(stored, some);
await ask(stored, others);
await new Promise((resolve) => setTimeout(resolve, 2000));
const grownBytes = (await redis.counts()).dataBytes - before.dataBytes;
const [cache, days] = [await redis.sizeOf('stored:*:cache*'), await redis.sizeOf('stored:*:days:{*')];
const { bytes } = await ask(stored, targets);
const hit = await trips(stored, some);
if (Number(values.rounds) > 0) {
  await ask(inMemory, targets);
  await ask(inMemory, targets);
}
const report = {
  jsonBytes: bytes / targets.length,
  cacheBytes: cache.bytes / targets.length,
  daysBytes: days.bytes / targets.length,
  redisBytes: grownBytes / targets.length,
  ratio: grownBytes / bytes,
  keys: (cache.keys + days.keys) / targets.length,
  ...{ hit, miss },
};

const gzip = { 'accept-encoding': 'gzip' };
const peers = [
  { name: 'node:http', ...bare, url: bareUrl, pid: bare.child.pid, keys: ['none'] },
  { name: 'hit in memory', ...inMemory },
  { name: 'hit from Redis', ...stored },
  { name: 'hit from Redis, gzip', ...stored, headers: gzip },
];
const results = new Map(peers.map(({ name }) => [name, []]));
for (let round = 0; Number(values.rounds) > 0 && round <= Number(values.rounds); round++) {
  for (const peer of peers) {
    const one = await load({ ...peer, targets, folder, seconds: Number(values.seconds) });
    // The first round warms up.
    if (round > 0) results.get(peer.name).push(one);
    say(
      `${peer.name}: ${one.rps.toFixed(0)} requests/s, ${one.cpuUs.toFixed(1)} µs of CPU${one.failed > 0 ? `, ${one.failed} failed` : ''}`,
    );
  }
}
for (const one of [stored, inMemory, bare, platform, redis]) await end(one);

const middle = (all, member) => all.map((one) => one[member]).sort((a, b) => a - b)[all.length >> 1];
const rates = [...results]
  .filter(([, all]) => all.length > 0)
  .map(([name, all]) => ({
    name,
    rps: middle(all, 'rps'),
    cpuUs: middle(all, 'cpuUs'),
    p99Ms: middle(all, 'p99Ms'),
  }));
const [plain, memory] = rates;

const tell = (line) => process.stdout.write(`${line}\n`);
if (values.json) tell(JSON.stringify({ ...report, rates }));
else {
  tell('| JSON, bytes | cache | days | in Redis, in all | of the JSON | keys a report |');
  tell('|--:|--:|--:|--:|--:|--:|');
  const sizes = [report.jsonBytes, report.cacheBytes, report.daysBytes, report.redisBytes];
  tell(
    `| ${sizes.map((size) => size.toFixed(0)).join(' | ')} | ${report.ratio.toFixed(2)} | ${report.keys.toFixed(2)} |`,
  );
  tell('\n| | round trips | commands |\n|---|--:|---|');
  for (const [name, { roundTrips, commands, outcomes }] of [
    ['miss', miss],
    ['hit', hit],
  ]) {
    say(`${name}: ${outcomes.join(' ')}`);
    tell(`| ${name} | ${roundTrips.toFixed(1)} | ${commands} |`);
  }
  if (rates.length > 0)
    tell(
      '\n| | CPU µs | requests/s | p99 ms | rps / node:http | rps / hit in memory |\n|---|--:|--:|--:|--:|--:|',
    );
  for (const { name, rps, cpuUs, p99Ms } of rates)
    tell(
      `| ${name} | ${cpuUs.toFixed(1)} | ${rps.toFixed(0)} | ${p99Ms.toFixed(1)} | ${(rps / plain.rps).toFixed(2)} | ${(rps / memory.rps).toFixed(2)} |`,
    );
}
