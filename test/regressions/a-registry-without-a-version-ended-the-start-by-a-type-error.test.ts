/**
 * The version of the registry in Redis was no number any more: a start ended by "Cannot read properties of undefined", and
 * that of a record that is damaged by a stack, without a word on what to do.
 */
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { faultOf } from '../../src/cli/exit.js';
import { DamagedRecord } from '../../src/lib/record.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { StoreRefused } from '../../src/store/refused.js';
import { startRedis } from '../support/redis.js';
import { createTestClock } from '../support/test-clock.js';

it('is refused by a word for it', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const logger = { info() {}, warn() {}, error() {} };
  const options = { connection: { url: redis.url }, prefix: 'p', clock: createTestClock(), logger };
  const store = await createRedisStore(options);
  onTestFinished(() => store.close());
  await store.registry.load();
  const control = new Redis(redis.url);
  onTestFinished(() => control.disconnect());
  const [meta = ''] = await control.keys('*{registry}:meta');
  await control.hset(meta, 'version', 'none');
  await expect(store.registry.load()).rejects.toThrow(StoreRefused);
  await expect(store.registry.load()).rejects.toThrow(/damaged.*restore Redis from a backup/);
});

it('and a damaged record is a fault of one line', async () => {
  const { lines, code } = await faultOf(new DamagedRecord('key/a'));
  expect(lines).toEqual(['the record key/a is damaged; restore the store from a backup']);
  expect(code).toBe(78);
});
