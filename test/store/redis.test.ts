import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { type Clock, createClock } from '../../src/lib/clock.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { describeStore } from './conformance.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

let server: RedisServer;
let control: Redis;

beforeAll(async () => {
  server = await startRedis();
  control = new Redis(server.port);
});

afterAll(async () => {
  control?.disconnect();
  await server?.close();
});

describeStore('redis', openRedis);

async function openRedis(options: HarnessOptions = {}): Promise<StoreHarness> {
  const prefix = `t-${randomUUID()}`;
  const real = createClock();
  let passedMs = 0;
  const clock: Clock = { ...real, now: () => real.now() + passedMs };
  const open = () =>
    createRedisStore({
      connection: { url: server.url },
      prefix,
      // What is tested here is what is answered, not how fast a busy machine answers.
      timeoutMs: 10_000,
      clock,
      logger: createTestLog(),
      ...options,
    });
  const stores = [await open()];
  return {
    store: stores[0] as StoreHarness['store'],
    async another() {
      const store = await open();
      stores.push(store);
      return store;
    },
    async elapse(ms) {
      passedMs += ms;
      await shortenLifetimes(prefix, ms);
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

/**
 * Redis has a clock of its own, which nobody can move; so what would have ended by then is brought nearer: what
 * expires, and what the ends of durable keys and of locks say. Cache entries say it themselves, by the clock of the
 * store's caller.
 */
const SHORTEN = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  if string.find(key, ':locks$') then
    local all = redis.call('HGETALL', key)
    for at = 1, #all, 2 do
      local owner, ends = string.match(all[at + 1], '^(%S+) (%d+)$')
      redis.call('HSET', key, all[at], owner .. ' ' .. string.format('%.0f', ends - ARGV[2]))
    end
  end
  local left = redis.call('PTTL', key)
  if left > tonumber(ARGV[2]) then redis.call('PEXPIRE', key, left - ARGV[2])
  elseif left >= 0 then redis.call('DEL', key)
  elseif string.find(key, '}:ends$') or string.find(key, '}:batches$') or string.find(key, '}:ended$') then
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      redis.call('ZINCRBY', key, -ARGV[2], member)
    end
  end
end`;

async function shortenLifetimes(prefix: string, ms: number): Promise<void> {
  await control.eval(SHORTEN, 0, `${prefix}:*`, ms);
}
