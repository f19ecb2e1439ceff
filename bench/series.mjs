/**
 * What the series take in the store: so many teams, every hour of so many days, and a day of minutes, written by two processes
 * through the gateway's own code.
 *
 * Usage: npm run build && node bench/series.mjs [--teams 50] [--days 90] [--json]
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { classify } from '../dist/modules/outcome.js';
import { createEmbeddedStore } from '../dist/modules/store/embedded/embedded-store.js';
import { createRedisStore } from '../dist/modules/store/redis/redis-store.js';
import { createSeries } from '../dist/modules/teams/series/create-series.js';
import { keptMsOf } from '../dist/modules/teams/tally/groups.js';
import { createTally } from '../dist/modules/teams/tally/tally.js';
import { CLIENT_CORE, end, temporaryFolder } from './support/processes.mjs';
import { startRedis } from './support/redis.mjs';

const { values } = parseArgs({
  options: {
    teams: { type: 'string', default: '50' },
    days: { type: 'string', default: '90' },
    json: { type: 'boolean', default: false },
  },
});
const HOUR_MS = 3_600_000;
const [TEAMS, DAYS] = [Number(values.teams), Number(values.days)];
const END_MS = Date.parse('2026-11-22T00:00:00Z');
const silent = () => {};
const say = (text) => process.stdout.write(`${text}\n`);
const logger = { debug: silent, info: silent, warn: silent, error: silent };

let nowMs = END_MS - DAYS * 24 * HOUR_MS;
const clock = { now: () => nowMs, monotonicMs: () => performance.now() };
const traffic = { budget: { queued: 2 }, pace: { status: () => ({ remaining: 31 }) } };

/** Some of everything that is counted, so that hardly a number is 0; the same in each run. */
let seed = 1;
function random(below) {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
}

function ask(tally, team) {
  const add = (outcome, tier, status, ms) => {
    const of = { team, subject: '/api/v1/report/campaigns/get', outcome, tier, code: null, via: null };
    const counts = { rows: 0, bytesOut: 0, plainCalls: 1, platformCalls: 0 };
    tally.add(classify({ ...of, ...counts }, status), ms);
  };
  const hit = (tier, ms) => add('hit', tier, 200, ms);
  for (let hits = random(150); hits > 0; hits -= 1) hit('l1', random(3));
  for (let hits = random(40); hits > 0; hits -= 1) hit('store', 1 + random(40));
  for (const outcome of ['stale', 'miss', 'refresh', 'collapsed', 'pass', 'error']) {
    const status = outcome === 'error' ? 400 : 200;
    for (let times = random(12); times > 0; times -= 1) add(outcome, null, status, 10 + random(9000));
  }
  for (let calls = random(30); calls > 0; calls -= 1) tally.addCall(team);
}

async function fill(counters) {
  traffic.budget.queued = 2;
  nowMs = END_MS - DAYS * 24 * HOUR_MS;
  const all = [0, 1].map(() => createTally({ counters, clock, logger, traffic, everyMs: null }));
  for (let hour = 0; hour < DAYS * 24; hour += 1, nowMs += HOUR_MS) {
    for (let team = 0; team < TEAMS; team += 1) ask(all[team % 2], `team-number-${team}`);
    if (hour % 12 === 11) for (const tally of all) await tally.flush();
    // The last day by the minute; of the days before minutes are gone.
    if (hour < (DAYS - 1) * 24) continue;
    for (let minute = 1; minute < 60; minute += 1) {
      nowMs += 60_000;
      ask(all[minute % 2], `team-number-${minute % TEAMS}`);
    }
    nowMs -= 59 * 60_000;
    for (const tally of all) await tally.flush();
  }
  // Nothing is counted of the time behind the last hour.
  traffic.budget.queued = 0;
  const startedMs = performance.now();
  await createSeries(all[0], clock).ledger('30d', () => undefined);
  const ledgerMs = performance.now() - startedMs;
  for (const tally of all) await tally.close();
  return ledgerMs;
}

/** Minutes of long ago would have ended; they are not written then. */
function withoutOldMinutes(counters) {
  const isKept = ({ group }) =>
    !/^series:(team-)?minutes:/.test(group) ||
    Number(group.split(':')[2]) >= (END_MS - keptMsOf(group)) / HOUR_MS;
  const fields = new Set();
  return {
    fields,
    counters: {
      read: (groups) => counters.read(groups),
      add(id, adds, raises, ttlMs) {
        const kept = [adds.filter(isKept), raises.filter(isKept)];
        for (const { group, field } of kept.flat()) fields.add(`${group} ${field}`);
        return counters.add(id, ...kept, ttlMs);
      },
    },
  };
}

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);
}

const folder = temporaryFolder();
const rows = [];

const redis = await startRedis({ folder, core: CLIENT_CORE });
const client = new Redis(redis.url);
const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))[1]);
{
  const store = await createRedisStore({
    ...{ connection: { url: redis.url }, prefix: 'bench', clock, logger },
    timeoutMs: 10_000,
  });
  const { counters, fields } = withoutOldMinutes(store.counters);
  await store.counters.read(['nothing']);
  const before = await usedBytes();
  const ledgerMs = await fill(counters);
  rows.push({ store: 'Redis', numbers: fields.size, storeBytes: (await usedBytes()) - before, ledgerMs });
  await store.close();
  client.disconnect();
}
await end(redis);
{
  const dataDir = join(folder, 'embedded');
  const store = await createEmbeddedStore({ dataDir, cacheMaxBytes: 2 ** 26, clock, logger });
  const state = join(dataDir, 'state');
  const before = bytesBelow(state);
  const { counters, fields } = withoutOldMinutes(store.counters);
  const ledgerMs = await fill(counters);
  await store.close();
  rows.push({ store: 'on disk', numbers: fields.size, storeBytes: bytesBelow(state) - before, ledgerMs });
}

if (values.json) say(JSON.stringify(rows));
else {
  say(`${TEAMS} teams, ${DAYS} days, every hour in use\n`);
  say('| Store | Numbers | Takes | Ledger of 30 days |');
  say('|---|--:|--:|--:|');
  const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  for (const { store, numbers, storeBytes, ledgerMs } of rows)
    say(`| ${store} | ${numbers} | ${mib(storeBytes)} | ${Math.round(ledgerMs)} ms |`);
}
process.exit(0);
