/**
 * What hits, misses and reports cost in work, not in time: a slow machine changes nothing here, and a change that makes
 * each of them do more is seen at once. All are ceilings, a little above what was counted. Who lowers a cost lowers its
 * ceiling with it.
 */
import { createHook } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fewestCalls } from '../../bench/policies.mjs';
import { createTrace, ORIGIN_MS, queryOf } from '../../bench/trace.mjs';
import { LEADER_LEASE } from '../../src/store/jobs.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { openOnRedis } from '../support/on-redis.js';
import { launch, planeOf, startPlatform, tempFolder } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { watchMessages } from '../support/redis-messages.js';
import { gatewayAt, type TestGateway, withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

/** A miss: days and the whole side by side; charge, and claim; the month on the list, the write, the list again. */
const MESSAGES_PER_MISS = 7;
/** With those of scripts; counted: 30. */
const COMMANDS_PER_MISS = 31;
/** A hit that is in Redis alone: days and the whole side by side. */
const MESSAGES_PER_REDIS_HIT = 2;
/** A miss of nine days: the part, the index of the month, and the finished answer in memory. */
const COMPRESSORS_PER_MISS = 3;
/** A miss of 45 rows: each text of a row is written once, and few others; counted: 295. */
const TEXTS_PER_MISS = 310;
/** The hash of its month. */
const KEYS_PER_REPORT = 1;
/** Redis memory for each byte of a report's JSON, its kind proven; counted: 0.54 for these 4.5 KB. */
const REDIS_BYTES_PER_BYTE = 0.6;
/** Counted: 699 requests of one team in two days, of which learning, once for each kind, is the larger part. */
const CALLS_ON_SHORT_TRACE = 227;
/** What the whole process allocates for a hit, Node's own HTTP included; counted: 19,923. */
const BYTES_PER_HIT = 26_000;
/** Reads and writes of sockets, files and events; counted: 2.2. */
const SYSTEM_CALLS_PER_HIT = 2.6;

/** Nine final days by campaign. */
const NINE_DAYS = `${byDay('2026-11-02', '2026-11-10')}&byCampaign=1`;

async function ask(gateway: TestGateway, key: string, query: string): Promise<string> {
  const reply = await gateway.report(key, query);
  await gateway.services.settled();
  expect(reply.status).toBe(200);
  return reply.headers['cache-status'] ?? '';
}

/** As long as a test may last. */
const HELD_MS = 3_600_000;

/**
 * Two replicas on one Redis, warm: their scripts are loaded, and the team's shares are at hand. The test leads in place of
 * one of them, so that jobs of the leader, which read months of reports by themselves, send nothing meanwhile.
 */
async function startReplicas() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const { registryLeases } = await openOnRedis(redis, 'work');
  expect(await registryLeases.claim([LEADER_LEASE], 'the test', HELD_MS)).toEqual([true]);
  const { simulator } = await withGateway();
  const start = async () =>
    gatewayAt(simulator, { sharedStore: await openOnRedis(redis, 'work'), config: ALWAYS, logLevel: 'warn' });
  const [one, other] = [await start(), await start()];
  const key = await one.addTeam();
  const warm = byDay('2026-10-01', '2026-10-03');
  await waitFor('the team on the other replica', async () => (await other.report(key, warm)).status === 200);
  for (const from of ['2026-09-01', '2026-09-02']) await ask(one, key, byDay(from, '2026-09-03'));
  await ask(one, key, warm);
  return { one, other, key, messages: watchMessages(redis) };
}

/** Periods of nine days in other months. Work of the processes at intervals falls into a slow miss: it only adds. */
const PERIODS = [NINE_DAYS, byDay('2026-06-01', '2026-06-09'), byDay('2026-05-01', '2026-05-09')];

it('a miss, a hit in memory and a hit in Redis send Redis so many messages, and no more', async () => {
  const { one, other, key, messages } = await startReplicas();
  const sentBy = async (gateway: TestGateway, outcome: string) => {
    const all: { readonly messages: readonly string[]; readonly atServer: number }[] = [];
    for (const period of PERIODS)
      all.push(await messages.during(async () => expect(await ask(gateway, key, period)).toContain(outcome)));
    return all.toSorted((a, b) => a.messages.length - b.messages.length || a.atServer - b.atServer)[0];
  };
  const miss = await sentBy(one, 'fwd=miss; stored; detail="days=9/9"');
  expect(miss?.messages.length, miss?.messages.join('\n')).toBeLessThanOrEqual(MESSAGES_PER_MISS);
  expect(miss?.atServer).toBeLessThanOrEqual(COMMANDS_PER_MISS);
  const memory = await sentBy(one, 'detail=l1');
  expect(memory?.messages).toEqual([]);
  const store = await sentBy(other, 'detail=store');
  expect(store?.messages.length, store?.messages.join('\n')).toBeLessThanOrEqual(MESSAGES_PER_REDIS_HIT);
});

/** zlib makes a handle for each stream and each synchronous call. */
async function workDuring(work: () => Promise<unknown>) {
  let compressors = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'ZLIB') compressors += 1;
    },
  });
  const texts = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => void texts.mockRestore());
  hook.enable();
  await work();
  hook.disable();
  return { compressors, texts: texts.mock.calls.length };
}

it('a miss makes so many compressors and writes so many texts, and no more', async () => {
  const { one, key } = await startReplicas();
  const misses: Awaited<ReturnType<typeof workDuring>>[] = [];
  for (const period of PERIODS) misses.push(await workDuring(() => ask(one, key, period)));
  const [compressors, texts] = [
    Math.min(...misses.map((miss) => miss.compressors)),
    Math.min(...misses.map((miss) => miss.texts)),
  ];
  expect(compressors).toBeGreaterThan(0);
  expect(compressors).toBeLessThanOrEqual(COMPRESSORS_PER_MISS);
  expect(texts).toBeGreaterThan(0);
  expect(texts).toBeLessThanOrEqual(TEXTS_PER_MISS);
});

it('a report takes so many keys and bytes in Redis, and no more', async () => {
  const { one, key, messages } = await startReplicas();
  const { client } = messages;
  const cacheKeys = async () => (await client.keys('*')).filter((name) => /:(cache|days):/.test(name));
  const before = await cacheKeys();
  const reply = await one.report(key, NINE_DAYS);
  await one.services.settled();
  const added = (await cacheKeys()).filter((name) => !before.includes(name));
  expect(added.length, added.join('\n')).toBeLessThanOrEqual(KEYS_PER_REPORT);
  const sizes = await Promise.all(added.map((name) => client.memory('USAGE', name, 'SAMPLES', 0)));
  const bytes = sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes / reply.body.length).toBeLessThanOrEqual(REDIS_BYTES_PER_BYTE);
});

it('two days of dashboards cost the platform so many calls, and no more', async () => {
  const trace = createTrace({ seed: 1, days: 2, teams: 1, advertisers: 10 });
  const gateway = await withGateway({ now: new Date(ORIGIN_MS).toISOString(), logLevel: 'error' });
  const key = await gateway.addTeam();
  for (const one of trace) {
    gateway.clock.set(new Date(ORIGIN_MS + one.at * 1000).toISOString());
    await ask(gateway, key, queryOf(one));
  }
  // Nobody can do with fewer: who knows the future makes these.
  expect(gateway.simulator.callCount).toBeGreaterThanOrEqual(fewestCalls(trace));
  expect(gateway.simulator.callCount).toBeLessThanOrEqual(CALLS_ON_SHORT_TRACE);
});

/** New objects go through so much memory until it is swept; each sweep tells that about as much was allocated. */
const [NURSERY_MIB, MIB] = [1, 1_048_576];
const MEASURED_HITS = 1500;

/** The built gateway with a nursery of a fixed size, so that the number of its sweeps counts bytes. */
async function startCounted() {
  const platform = await startPlatform();
  const dataDir = await tempFolder();
  const adminToken = 'an-admin-token-for-tests';
  const sizes = [`--min-semi-space-size=${NURSERY_MIB}`, `--max-semi-space-size=${NURSERY_MIB}`];
  const started = launch(process.execPath, [...sizes, 'dist/cli.js', 'serve'], {
    ...platform.env,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    GATEWAY_DATA_DIR: dataDir,
    ADMIN_TOKEN: adminToken,
  });
  const at = (plane: 'data' | 'admin') =>
    waitFor(`the ${plane} plane`, () => planeOf(started, plane), started);
  const [data, admin] = [await at('data'), await at('admin')];
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const post = async (path: string, body: unknown) =>
    (await fetch(`${admin}/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  await post('/teams', { id: 'counted', advertisers: '*', limits: { requestsPerMinute: 1_000_000 } });
  const { key } = (await post('/teams/counted/keys', {})) as { key: string };
  return {
    data,
    key,
    systemCalls: () => systemCallsOf(started.pid),
    async sweeps(): Promise<number> {
      const text = await (await fetch(`${admin}/metrics`, { headers })).text();
      const count = /gc_duration_seconds_count\{[^}]*kind="minor"[^}]*\} (\d+)/.exec(text)?.[1];
      if (count === undefined) throw new Error(`no count of sweeps in /metrics:\n${text}`);
      return Number(count);
    },
  };
}

/** Of all threads, as Linux counts them. */
function systemCallsOf(pid: number): number {
  const counts = readFileSync(`/proc/${pid}/io`, 'utf8').matchAll(/^sysc[rw]: (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

it('a hit allocates so many bytes and makes so many system calls, and no more', async () => {
  const { data, key, sweeps, systemCalls } = await startCounted();
  const agent = new Agent({ connections: 1, pipelining: 1 });
  onTestFinished(() => agent.close());
  const hits = async (count: number) => {
    for (let left = count; left > 0; left -= 1) {
      const url = `${data}/api/v1/report/campaigns/get?${NINE_DAYS}`;
      const answer = await request(url, { dispatcher: agent, headers: { 'x-api-key': key } });
      await answer.body.dump();
      expect(answer.statusCode).toBe(200);
    }
  };
  // Compiled code allocates less than what is interpreted.
  await hits(1000);
  const [before, callsBefore] = [await sweeps(), systemCalls()];
  await hits(MEASURED_HITS);
  const calls = (systemCalls() - callsBefore) / MEASURED_HITS;
  expect(calls).toBeGreaterThan(1);
  expect(calls).toBeLessThanOrEqual(SYSTEM_CALLS_PER_HIT);
  const bytes = ((await sweeps()) - before) * NURSERY_MIB * MIB;
  expect(bytes / MEASURED_HITS).toBeLessThanOrEqual(BYTES_PER_HIT);
  expect(bytes).toBeGreaterThan(0);
});
