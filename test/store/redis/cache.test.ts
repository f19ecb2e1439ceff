/** How cache entries lie in Redis, and what is made of keys that are somebody else's. */
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { commandsDuring } from '../../support/redis-monitor.js';
import { MINUTE } from '../../support/test-clock.js';
import { bodiesOf, keep } from '../entries.js';
import { openStore, serverOfFile, withControl } from './open-store.js';

const KEY = 'dgw:5:cache:{s}a';

const server = serverOfFile();

async function open(): Promise<RedisStore> {
  const { store } = await openStore(server.url, { timeoutMs: 10_000 });
  onTestFinished(() => store.close());
  return store;
}

const looking = <T>(use: (control: Redis) => Promise<T>) => withControl(server.url, use);
const entry = (key: string, changes: { version?: number; ttlMs?: number; value?: Buffer } = {}) => ({
  key,
  version: 5,
  ttlMs: MINUTE,
  value: Buffer.from('value'),
  ...changes,
});

/** The commands that a server is sent meanwhile, but those of scripts. */
async function commandsOf(use: () => Promise<unknown>): Promise<(readonly string[])[]> {
  const seen = await commandsDuring(server.url, use);
  // A look at the memory is no part of a call.
  return seen.filter(({ args, source }) => source !== 'lua' && args[0] !== 'info').map(({ args }) => args);
}

describe('an entry', () => {
  it('is one key with its version in front, which expires by itself', async () => {
    const store = await open();
    await keep(store.cache, [entry('{s}a')]);
    await looking(async (control) => {
      expect(await control.keys('*')).toEqual([KEY]);
      expect(await control.getBuffer(KEY)).toEqual(Buffer.from('\0\0\0\0\0\x05value'));
      expect(await control.pttl(KEY)).toBeGreaterThan(MINUTE / 2);
    });
  });

  it('is written in one transaction, in which its bytes do not go through the script', async () => {
    const store = await open();
    const value = Buffer.alloc(300_000, 'x');
    const commands = await commandsOf(() => keep(store.cache, [entry('{s}a', { value }), entry('{s}b')]));
    expect(commands.map(([name]) => name)).toEqual(['multi', 'eval', 'set', 'eval', 'set', 'exec']);
    expect(commands[1]?.join(' ')).not.toContain('xxx');
  });

  it('is read with others of its series by one command', async () => {
    const store = await open();
    await keep(store.cache, [entry('{s}a')]);
    const commands = await commandsOf(() => bodiesOf(store.cache, ['{s}a', '{s}b']));
    expect(commands).toEqual([['mget', KEY, 'dgw:5:cache:{s}b']]);
  });

  it('keeps its lifetime when an older write comes', async () => {
    const store = await open();
    await keep(store.cache, [entry('{s}a', { ttlMs: 9 * MINUTE })]);
    await keep(store.cache, [entry('{s}a', { version: 4, ttlMs: 90 * MINUTE })]);
    const left = await looking((control) => control.pttl(KEY));
    expect(left > 8 * MINUTE && left <= 9 * MINUTE).toBe(true);
  });

  it.each<[string, (control: Redis) => Promise<unknown>]>([
    ['a list', (control) => control.lpush(KEY, 'a')],
    ['a text that is too short', (control) => control.set(KEY, 'short')],
  ])('is absent where its key is %s, and can be written', async (_, put) => {
    const store = await open();
    await looking(put);
    expect(await store.cache.read(['{s}a'])).toEqual([null]);
    await keep(store.cache, [entry('{s}a')]);
    expect(await bodiesOf(store.cache, ['{s}a'])).toEqual([Buffer.from('value')]);
  });
});
