/**
 * What a miss costs: reports that nobody asked before, at a platform that takes 20 ms, through the gateway and through a
 * reference that does only what a miss cannot do without (support/reference-miss.mjs), in turns, on both stores; for a kind of
 * report that is not proven to be divisible by day, and for one that is. CPU is that of the whole process, with what follows
 * the answer. Then, on Redis: commands of a miss, the first hits after a restart, and first hits of a month that was fetched
 * every day for 60 days, beside one that was fetched once.
 *
 * Usage: npm run bench:miss -- [--rounds 5] [--calls 40] [--warm 400] [--days 60, 0 for none] [--profile DIR] [--json]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startGateway } from './support/gateway.mjs';
import { cpuUs, end, firstLine, lineIn, startNode, temporaryFolder } from './support/processes.mjs';
import { commandsOf, startRedis } from './support/redis.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '40' },
    warm: { type: 'string', default: '400' },
    days: { type: 'string', default: '60' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [ROUNDS, CALLS, WARM, DAYS] = ['rounds', 'calls', 'warm', 'days'].map((name) => Number(values[name]));
const CONNECTIONS = [1, 8];
const DAY_MS = 86_400_000;
/** What follows the answers is over by then. */
const SETTLED_MS = 500;
const KEY = 'bench-reference-key';
const here = (name) => new URL(`./support/${name}`, import.meta.url).pathname;
const folder = temporaryFolder();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (line) => process.stderr.write(`${line}\n`);
const agent = new Agent({ connections: Math.max(...CONNECTIONS) });

const platform = startNode([here('platform.mjs')], { env: { DELAY_MS: '20' } });
const platformUrl = await firstLine(platform);
const servers = {};
for (const name of ['ours', 'reference']) servers[name] = await startRedis({ folder: temporaryFolder() });

function openGateway(name, env = {}) {
  return startGateway({
    ...{ folder: join(folder, name), platform: platformUrl },
    env,
    profile: values.profile === undefined ? null : join(values.profile, name),
  });
}

async function openReference(name, env = {}) {
  const output = join(folder, `${name}.log`);
  const running = startNode([here('reference-miss.mjs')], {
    output: output,
    env: { PLATFORM: platformUrl, FOLDER: join(folder, name), KEY, ...env },
  });
  const line = await lineIn(output, (text) => text.includes('Server listening at'));
  return { ...running, pid: running.child.pid, url: /http:\/\/[\d.:]+/.exec(line)[0], keys: [KEY] };
}

const peers = {
  embedded: { ours: await openGateway('embedded'), reference: await openReference('reference-embedded') },
  Redis: {
    ours: await openGateway('redis', { REDIS_URL: servers.ours.url, NODE_ENV: 'test' }),
    reference: await openReference('reference-redis', { REDIS_URL: servers.reference.url }),
  },
};

let advertiser = 10_000;
const targetOf = (split, id, from, to) =>
  `/api/v1/report/campaigns/get?advertiserId=${id}&byDate=1&${split}=1&dateFrom=${from}&dateTo=${to}`;

function nextTarget(split) {
  advertiser += 1;
  return targetOf(split, advertiser, '2026-06-22', '2026-06-30');
}

/** @returns the time until the whole answer is here, milliseconds */
async function ask({ url, keys = [''] }, target) {
  const startedMs = performance.now();
  const answer = await request(url + target, { headers: { 'x-api-key': keys[0] }, dispatcher: agent });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
  return { ms: performance.now() - startedMs, status: answer.headers['cache-status'] ?? '' };
}

async function askAll(peer, targets, connections) {
  const left = [...targets].reverse();
  const all = [];
  const caller = async () => {
    for (let target = left.pop(); target !== undefined; target = left.pop())
      all.push(await ask(peer, target));
  };
  await Promise.all(Array.from({ length: connections }, caller));
  return all;
}

const middle = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const misses = (split, count = CALLS) => Array.from({ length: count }, () => nextTarget(split));

/** @returns the middle wait, and CPU of the whole process a request, milliseconds */
async function measure(peer, targets, connections) {
  const before = peer.pid === undefined ? 0 : cpuUs(peer.pid);
  const all = await askAll(peer, targets, connections);
  await sleep(SETTLED_MS);
  const used = peer.pid === undefined ? 0 : (cpuUs(peer.pid) - before) / 1000;
  return { ms: middle(all.map(({ ms }) => ms)), cpuMs: used / targets.length, status: all.at(-1).status };
}

/** Asks for periods that overlap, so that their common days are compared, until days are fetched one by one. */
async function prove(peer, split) {
  for (let day = 1; day <= 20; day += 1) {
    const { status } = await ask(peer, targetOf(split, 1, `2026-05-${10 + day}`, `2026-06-${10 + day}`));
    if (/detail="?days=/.test(status)) return;
    await sleep(SETTLED_MS);
  }
  throw new Error(`reports by ${split} are not divided by day`);
}

/** Reads of the process's own timers, and of its first compilation, are not part of what is compared. */
async function warmUp(split) {
  for (const { ours, reference } of Object.values(peers))
    for (const peer of [ours, reference]) await askAll(peer, misses(split, WARM), Math.max(...CONNECTIONS));
}

const rows = [];
for (const [title, split] of [
  ['not proven', 'byCampaign'],
  ['proven', 'byCreative'],
]) {
  if (title === 'proven') for (const { ours } of Object.values(peers)) await prove(ours, split);
  await warmUp(split);
  for (const connections of CONNECTIONS) {
    const rounds = { embedded: [], Redis: [] };
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [store, { ours, reference }] of Object.entries(peers)) {
        const direct = await measure({ url: platformUrl }, misses(split), connections);
        const own = await measure(ours, misses(split), connections);
        const least = await measure(reference, misses(split), connections);
        rounds[store].push({
          ...{ addedMs: own.ms - direct.ms, cpuMs: own.cpuMs, cpu: own.cpuMs / least.cpuMs },
          added: (own.ms - direct.ms) / (least.ms - direct.ms),
        });
      }
    for (const [store, all] of Object.entries(rounds)) {
      const of = (member) => middle(all.map((one) => one[member]));
      rows.push({
        ...{ store, title, connections, addedMs: of('addedMs'), added: of('added') },
        ...{ cpuMs: of('cpuMs'), cpu: of('cpu') },
      });
      say(JSON.stringify(rows.at(-1)));
    }
  }
}

/** Commands of the client and of scripts at the server, a request; the upkeep of the gateway among them. */
async function commandsFor(targets) {
  const before = await servers.ours.counts();
  const measured = await measure(peers.Redis.ours, targets, 1);
  const after = await servers.ours.counts();
  const calls = (all) => [...all.commands.values()].reduce((sum, one) => sum + one, 0);
  return {
    ...measured,
    trips: (after.reads - before.reads) / targets.length,
    count: (calls(after) - calls(before)) / targets.length,
    commands: commandsOf(before, after, targets.length),
  };
}

let starts = 0;
async function restart() {
  await end(peers.Redis.ours);
  starts += 1;
  const { keys } = peers.Redis.ours;
  peers.Redis.ours = {
    ...(await startGateway({
      ...{ folder: join(folder, `redis-${starts}`), platform: platformUrl, teams: 0 },
      env: { REDIS_URL: servers.ours.url, GATEWAY_TEST_CLOCK: '1', NODE_ENV: 'test' },
    })),
    keys,
  };
}

const setClock = (offsetMs) =>
  request(`${peers.Redis.ours.admin}/admin/v1/clock`, {
    method: 'PUT',
    headers: { authorization: 'Bearer bench-admin-token', 'content-type': 'application/json' },
    body: JSON.stringify({ offsetMs }),
  }).then(async ({ statusCode, body }) => {
    await body.dump();
    if (statusCode !== 200) throw new Error(`the clock answered ${statusCode}`);
  });

const isoAt = (ms) => new Date(ms).toISOString().slice(0, 10);
/** The last 30 days of so many advertisers, from `first` on. */
function monthTargets(first, endMs) {
  return Array.from({ length: CALLS }, (_, at) =>
    targetOf('byCreative', first + at, isoAt(endMs - 30 * DAY_MS), isoAt(endMs - DAY_MS)),
  );
}

const asked = misses('byCreative');
const redisRows = [['miss', await commandsFor(asked)]];
await restart();
redisRows.push(['first hit after a restart', await commandsFor(asked)]);
if (DAYS > 0) {
  const startMs = Date.now();
  for (let day = 0; day <= DAYS; day += 1) {
    await setClock(day * DAY_MS);
    // A change of the clock is in force within a second.
    await sleep(1100);
    await askAll(peers.Redis.ours, monthTargets(1_000, startMs + day * DAY_MS), 8);
  }
  const endMs = startMs + DAYS * DAY_MS;
  await askAll(peers.Redis.ours, monthTargets(2_000, endMs), 8);
  await sleep(4 * SETTLED_MS);
  for (const [title, first] of [
    ['first hit of a month, fetched once', 2_000],
    [`first hit of a month, fetched daily for ${DAYS} days`, 1_000],
  ]) {
    await restart();
    await setClock(DAYS * DAY_MS);
    await sleep(1100);
    redisRows.push([title, await commandsFor(monthTargets(first, endMs))]);
  }
}
for (const one of [...Object.values(peers).flatMap(Object.values), platform, ...Object.values(servers)])
  await end(one);
await agent.close();

const tell = (line) => process.stdout.write(`${line}\n`);
if (values.json) tell(JSON.stringify({ rows, redis: Object.fromEntries(redisRows) }));
else {
  tell('| Store | Report | Connections | added, ms | / reference | CPU, ms | / reference |');
  tell('|---|---|--:|--:|--:|--:|--:|');
  for (const { store, title, connections, addedMs, added, cpuMs, cpu } of rows)
    tell(
      `| ${store} | ${title} | ${connections} | ${addedMs.toFixed(1)} | ${added.toFixed(1)} | ${cpuMs.toFixed(1)} | ${cpu.toFixed(1)} |`,
    );
  tell('\n| Redis | ms | CPU, ms | trips | commands | of which |\n|---|--:|--:|--:|--:|---|');
  for (const [title, { ms, cpuMs, trips, count, commands, status }] of redisRows) {
    say(`${title}: ${status}`);
    tell(
      `| ${title} | ${ms.toFixed(1)} | ${cpuMs.toFixed(1)} | ${trips.toFixed(1)} | ${count.toFixed(0)} | ${commands} |`,
    );
  }
}
