/** Guarded writes through replicas on one Redis: never more than a day may cost, a brake that all pull, a store that is late. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { afterEachFile } from '../support/after-file.js';
import { admin, ask, newTeam, simulatorOf } from '../support/ask.js';
import { CAMPAIGN as ANY_CAMPAIGN } from '../support/campaign.js';
import {
  type Gateway,
  type Platform,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

const PATH = '/api/v1/campaign/create';
const EACH = 10;
const MAX_A_DAY = 1000;
const GUARD = {
  [`POST ${PATH}`]: {
    budget: { field: 'body.budget.total', maxPerDay: MAX_A_DAY },
  },
};
const CAMPAIGN = { ...ANY_CAMPAIGN, budget: { daily: 1, total: EACH } };
const HANGING = 5;
const EVERYWHERE_MS = 1_000;

let platform: Platform;
let redis: RedisServer;
let gateways: Gateway[];
let key: string;
let free: string;
/** The last one; its own connection to Redis is late at times. */
let late: Gateway;
let delayMs = 0;

beforeAll(async () => {
  [platform, redis] = await Promise.all([startPlatform(), startRedis()]);
  const config = join(await tempFolder(), 'gateway.yaml');
  // Of which a third is each replica's, and half of that its writes'.
  await writeFile(config, 'platform: { maxConcurrent: 90 }\n');
  const env = {
    GATEWAY_CONFIG: config,
    ...platform.env,
    REDIS_URL: redis.url,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    GATEWAY_TEST_CLOCK: '1',
  };
  const REDIS_URL = await lateWayTo(redis.url);
  [late, ...gateways] = await Promise.all([
    startGateway({ ...env, REDIS_URL }),
    ...[1, 2].map(() => startGateway(env)),
  ]);
  // Noon, so that no day ends in the middle.
  await setClock(12 * HOUR);
  ({ key } = await newTeam(one(), { id: 'guarded', writeGuard: GUARD }));
  ({ key: free } = await newTeam(one(), { id: 'free' }));
  gateways.push(late);
  for (const gateway of gateways)
    await waitFor(
      'the teams',
      async () => (await create(gateway, free, '?_dryRun=1')).status === 200,
      gateway,
    );
});

afterAll(() => redis?.close());

const one = () => gateways[0] as Gateway;
/** Later today, or tomorrow. */
const setClock = (sinceMidnightMs: number) =>
  admin(one(), 'PUT', '/clock', { offsetMs: DAY + sinceMidnightMs - (Date.now() % DAY) });
const create = (gateway: Gateway, by = key, query = '') =>
  ask(`${gateway.data}${PATH}${query}`, { method: 'POST', key: by, json: CAMPAIGN });
const leftOn = async (gateway: Gateway) =>
  (await create(gateway, key, '?_dryRun=1')).json<{ left: { amount: number } }>().left.amount;
const codeOf = async (gateway: Gateway, by = key) => {
  const answer = await create(gateway, by);
  return answer.status < 300 ? answer.status : answer.json<{ code: string }>().code;
};
interface Unknown {
  readonly id: string;
  readonly amount: number;
  readonly why: string;
}
const unknownOn = async (gateway: Gateway) =>
  (await admin<{ writes: readonly Unknown[] }>(gateway, 'GET', '/writes/unknown')).writes;

describe('the brake', () => {
  it.each([
    ['all teams', {}],
    ['a team', { team: 'free' }],
  ])('stops writes of %s on every replica within a second, and lets them go on', async (_, of) => {
    const onAll = async (isStopped: boolean, startedMs: number) => {
      const tookMs = gateways.map(async (gateway) => {
        await waitFor('the brake', async () => (await stopsOn(gateway)) === (isStopped ? 1 : 0), gateway);
        return performance.now() - startedMs;
      });
      expect(Math.max(...(await Promise.all(tookMs)))).toBeLessThan(EVERYWHERE_MS);
      const codes = await Promise.all(gateways.map((gateway) => codeOf(gateway, free)));
      expect(codes).toEqual(gateways.map(() => (isStopped ? 'writes_stopped' : 201)));
    };
    const stopped = performance.now();
    await admin(one(), 'POST', '/writes/stop', { ...of, reason: 'a test' });
    await onAll(true, stopped);
    const resumed = performance.now();
    await admin(gateways[1] as Gateway, 'POST', '/writes/resume', { ...of, reason: 'a test' });
    await onAll(false, resumed);
  });
});

async function stopsOn(gateway: Gateway): Promise<number> {
  const { all, teams } = await admin<{ all: object | null; teams: object[] }>(gateway, 'GET', '/writes');
  return teams.length + (all === null ? 0 : 1);
}

it('while the store is away guarded writes are refused, and others go on', async () => {
  const before = (await simulatorOf(platform.url).calls()).length;
  redis.pause();
  try {
    expect(await codeOf(one())).toBe('write_guard_unavailable');
    expect((await simulatorOf(platform.url).calls()).length).toBe(before);
    expect(await codeOf(one(), free)).toBe(201);
  } finally {
    redis.resume();
  }
  // What was under way to the store is given back.
  for (const gateway of gateways)
    await waitFor('the whole day', async () => (await codeLeft(gateway)) === MAX_A_DAY, gateway);
});

const codeLeft = (gateway: Gateway) => leftOn(gateway).catch(() => null);

const sent = async () => (await simulatorOf(platform.url).calls()).filter(({ path }) => path === PATH).length;

describe('Redis that answers late', () => {
  it.each([300, 2100])(
    'by %i ms: what is sent was reserved, all else is refused and given back',
    async (ms) => {
      const [leftBefore, sentBefore] = [await leftOn(one()), await sent()];
      delayMs = ms;
      const answers = await Promise.all([1, 2, 3].map(() => create(late)));
      delayMs = 0;
      const done = answers.filter(({ status }) => status === 201).length;
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused.map((one) => [one.status, one.json<{ code: string }>().code])).toEqual(
        refused.map(() => [503, 'write_guard_unavailable']),
      );
      expect((await sent()) - sentBefore).toBe(done);
      // What was charged in vain is taken back when Redis answers in time again.
      await waitFor('what was given back', async () => leftBefore - (await leftOn(one())) === done * EACH);
      await waitFor('writes again', async () => (await create(late)).status === 201);
    },
  );
});

/** @returns the address of a way to Redis on which each answer comes by `delayMs` later */
async function lateWayTo(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [near, far].map((one) => one.destroy()));
    }
    near.pipe(far);
    // In order, also when the delay ends: replies that overtake one another are those of no Redis.
    let before = Promise.resolve();
    far.on('data', (bytes) => {
      const delay = sleep(delayMs);
      before = before.then(async () => {
        await delay;
        if (near.writable) near.write(bytes);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterEachFile(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it(
  '200 writes at once, and a replica killed among them: never more than a day may cost',
  async () => {
    const simulator = simulatorOf(platform.url);
    await simulator.forget();
    await setClock(36 * HOUR);
    // While Redis answered late an outcome may have been lost: that is yesterday's.
    for (const { id } of await unknownOn(one()))
      await admin(one(), 'POST', '/writes/settle', { id, outcome: 'happened' });
    const [, killed] = gateways as [Gateway, Gateway];
    // These the platform never answers: they are under way when their gateway dies.
    await simulator.fault({ kind: 'hang', path: PATH, times: HANGING });
    const hanging = Array.from({ length: HANGING }, () => create(killed).catch(() => null));
    const reserved = MAX_A_DAY - HANGING * EACH;
    await waitFor('what hangs', async () => (await leftOn(one())) === reserved, one());
    await waitFor('what hangs', async () => (await sent()) === HANGING);
    await simulator.set({ latencyMs: 50 });
    let created = 0;
    const calls = Array.from({ length: 200 - HANGING }, async (_, at) => {
      // Those of the killed one are broken off.
      const answer = await create(gateways[at % 3] as Gateway).catch(() => null);
      if (answer?.status === 201) created += 1;
      if (created === 20) killed.signal('SIGKILL');
      return answer?.status ?? 0;
    });
    const statuses = new Set(await Promise.all(calls));
    expect(await Promise.all(hanging)).toEqual(hanging.map(() => null));
    await killed.exited;
    await simulator.set({ latencyMs: 0 });
    expect([...statuses].sort()).toEqual(expect.arrayContaining([201, 422]));

    const reached = await sent();
    const charged = MAX_A_DAY - (await leftOn(one()));
    expect(await leftOn(late)).toBe(MAX_A_DAY - charged);
    expect(charged).toBeLessThanOrEqual(MAX_A_DAY);
    expect(reached * EACH).toBeLessThanOrEqual(charged);
    expect(reached).toBeGreaterThanOrEqual(created);

    // What the killed one had under way is listed once its calls would be over, and can be settled by any other.
    expect(await unknownOn(one())).toEqual([]);
    await setClock(37 * HOUR);
    const unknown = await unknownOn(one());
    expect(unknown.length).toBeGreaterThanOrEqual(HANGING);
    // The others learn of the clock a moment later.
    await waitFor('the clock', async () => (await unknownOn(late)).length === unknown.length, late);
    expect(charged - unknown.length * EACH).toBeLessThanOrEqual(reached * EACH);
    for (const { id, why } of unknown) {
      expect(why).toContain('the gateway stopped');
      await admin(late, 'POST', '/writes/settle', { id, outcome: 'not' });
    }
    expect(await unknownOn(one())).toEqual([]);
    expect(await leftOn(one())).toBe(MAX_A_DAY - charged + unknown.length * EACH);
  },
  3 * MINUTE,
);
