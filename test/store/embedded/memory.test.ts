import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/clock.js';
import { createLocalBus } from '../../../src/store/embedded/local-bus.js';
import { createMemoryCache } from '../../../src/store/embedded/memory-cache.js';
import { bodiesOf, keep } from '../entries.js';
import { createTestLog } from '../test-log.js';

function movable(): Clock & { wallMs: number; steadyMs: number } {
  return {
    wallMs: 0,
    steadyMs: 0,
    now() {
      return this.wallMs;
    },
    monotonicMs() {
      return this.steadyMs;
    },
  };
}

describe('the cache in memory', () => {
  const entry = (key: string, bytes: number) => ({
    key,
    value: Buffer.alloc(bytes),
    ttlMs: 1_000,
    version: 1,
  });

  it('holds no more bytes than it may; what was not used for longest goes first', async () => {
    const cache = createMemoryCache(10_000, movable());
    await keep(cache, [entry('a', 3_000), entry('b', 3_000), entry('c', 3_000)]);
    await bodiesOf(cache, ['a']);
    await keep(cache, [entry('d', 3_000)]);
    const found = await bodiesOf(cache, ['a', 'b', 'c', 'd']);
    expect(found.map((value) => value !== null)).toEqual([true, false, true, true]);
  });

  it('counts keys and small entries too', async () => {
    const cache = createMemoryCache(10_000, movable());
    const keys = Array.from({ length: 1_000 }, (_, at) => `key ${at}`);
    await keep(
      cache,
      keys.map((key) => entry(key, 1)),
    );
    const kept = (await bodiesOf(cache, keys)).filter((value) => value !== null);
    expect(kept.length).toBeGreaterThan(10);
    expect(kept.length).toBeLessThan(100);
  });

  it('does not keep the old value when the new one is too large to be kept', async () => {
    const cache = createMemoryCache(10_000, movable());
    await keep(cache, [entry('a', 10), entry('b', 10)]);
    await keep(cache, [entry('a', 20_000)]);
    expect(await bodiesOf(cache, ['a', 'b'])).toEqual([null, Buffer.alloc(10)]);
  });

  it('does not keep alive the memory that a value was cut from', async () => {
    const cache = createMemoryCache(10_000, movable());
    const whole = Buffer.from(new ArrayBuffer(5_000)).subarray(100, 110).fill('x');
    await keep(cache, [{ ...entry('a', 0), value: whole }]);
    const [kept] = await bodiesOf(cache, ['a']);
    expect(kept).toEqual(Buffer.from('xxxxxxxxxx'));
    expect(kept?.buffer).not.toBe(whole.buffer);
  });

  it('goes by the clock that an operator may move, also back', async () => {
    const clock = movable();
    const cache = createMemoryCache(10_000, clock);
    await keep(cache, [entry('a', 1), entry('b', 1)]);
    clock.steadyMs = 5_000;
    expect(await bodiesOf(cache, ['a'])).toEqual([Buffer.alloc(1)]);
    clock.wallMs = -60_000;
    expect(await bodiesOf(cache, ['a'])).toEqual([Buffer.alloc(1)]);
    clock.wallMs = 1_000;
    expect(await bodiesOf(cache, ['a', 'b'])).toEqual([null, null]);
  });
});

describe('the bus in memory', () => {
  it('does not deliver to one who has left meanwhile, and logs one who fails', async () => {
    const log = createTestLog();
    const bus = createLocalBus(log);
    const heard: string[] = [];
    const leave = bus.subscribe('news', () => heard.push('left'));
    bus.subscribe('news', () => {
      throw new Error('faulty');
    });
    bus.subscribe('news', (message) => heard.push(message));
    await bus.publish('news', 'one');
    leave();
    await new Promise(setImmediate);
    expect(heard).toEqual(['one']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { channel: 'news' } }]);
  });
});
