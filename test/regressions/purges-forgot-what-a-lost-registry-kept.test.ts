/**
 * The registry was lost and made anew, while the cache kept its entries: purges were counted from one again, and
 * entries that had been begun after the third purge of the old registry outlived the first three of the new one.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import { startReplicas } from '../engine/replicas.js';
import { cacheOf, FINAL } from '../gateway/reports.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { createTestClock } from '../support/test-clock.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

it('an entry kept under a lost registry is not given any more, and never outlives a purge of everything', async () => {
  const clock = createTestClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const prefix = 'purges-epoch';
  const before = await startReplicas({ platform: simulator, clock, redis, prefix });
  for (let count = 0; count < 3; count++) await before.all[0]?.manage('POST', '/cache/purge', { all: true });
  await before.all[0]?.report(before.key, FINAL);
  expect(cacheOf((await before.all[0]?.report(before.key, FINAL)) as never)).toContain('hit');
  await before.close();

  const control = new Redis(redis.url);
  onTestFinished(() => control.disconnect());
  for (const key of await control.keys(`${prefix}:*{registry}*`)) await control.del(key);

  const after = await startReplicas({ platform: simulator, clock, redis, prefix });
  onTestFinished(() => after.close());
  const [gateway] = after.all;
  await gateway?.manage('POST', '/cache/purge', { all: true });
  expect(cacheOf((await gateway?.report(after.key, FINAL)) as never)).toMatch(/^fwd=/);
  // What is fetched now is the new registry's, and is kept as ever.
  expect(cacheOf((await gateway?.report(after.key, FINAL)) as never)).toContain('hit');
});
