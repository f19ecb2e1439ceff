import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { openStore, withControl } from '../../store/redis/open-store.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { openEmbedded, withoutBus } from '../../support/shared-registry.js';
import { createStandingClock, type TestClock } from '../../support/test-clock.js';
import { EPOCH, LONG, never, ONE, processOn, settled, state, TWO } from './locking.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function openRedis(): Promise<Store> {
  const { store } = await openStore(redis.url);
  onTestFinished(() => store.close());
  return store;
}

const both = (one: Store, other = one) => [processOn(one), processOn(other)] as const;

describe.each([
  ['two handles of one Redis', async () => both(await openRedis(), await openRedis())],
  ['one embedded store', async () => both(await openEmbedded())],
])('between two processes on %s', (kind, open) => {
  /** Keys of this run alone, for the server is shared by the tests of this file. */
  let serial = 0;
  const fresh = () => {
    serial += 1;
    return [`{${kind[0]}${serial}}:1`, `{${kind[0]}${serial}}:2`] as const;
  };

  it('gives each key to one of them', async () => {
    const [one, two] = await open();
    const keys = Array.from({ length: 40 }, (_, index) => `{many}:${kind}:${index}`);
    const locks = await Promise.all([
      one.tryTake(keys.slice(0, 30), EPOCH, LONG),
      two.tryTake(keys.slice(10), EPOCH, LONG),
      one.tryTake(keys, EPOCH, LONG),
      two.tryTake(keys, EPOCH, LONG),
    ]);
    expect(locks.flatMap(({ mine }) => mine).sort()).toEqual([...keys].sort());
    for (const { mine, others } of locks) expect(mine.filter((key) => others.includes(key))).toEqual([]);
  });

  it.each(['succeed', 'fail', 'drop'] as const)('frees a key for the other by %s', async (end) => {
    const [here, there] = await open();
    const [first, second] = fresh();
    const holder = await here.tryTake([first, second], EPOCH, LONG);
    const waiter = await there.tryTake([first], EPOCH, LONG);
    expect([waiter.mine, waiter.others]).toEqual([[], [first]]);
    if (end === 'succeed') await holder.succeed('it');
    if (end === 'fail') await holder.fail(new Error('refused'));
    if (end === 'drop') await holder.drop([first]);
    // What was brought is in the store, a failure is the other's own: the waiter looks, and may take over.
    expect(await there.wait(waiter, never())).toBeNull();
    const next = await there.tryTake([first, second], EPOCH, LONG);
    expect(next.mine).toEqual(end === 'drop' ? [first] : [first, second]);
  });

  it('locks apart what was asked for before and after a purge', async () => {
    const [here, there] = await open();
    const [key] = fresh();
    await here.tryTake([key], 1, LONG);
    expect((await there.tryTake([key], 1, LONG)).mine).toEqual([]);
    expect((await there.tryTake([key], 2, LONG)).mine).toEqual([key]);
  });

  it('keeps for the next one in this process what it takes up the moment it is free', async () => {
    const [here, there] = await open();
    const [key] = fresh();
    for (let round = 0; round < 5; round++) {
      const holder = await here.tryTake([key], EPOCH, LONG);
      const waiter = await here.tryTake([key], EPOCH, LONG);
      const next = here.wait(waiter, never()).then(() => here.tryTake([key], EPOCH, LONG));
      const [, lock] = await Promise.all([holder.succeed('it'), next]);
      expect(lock.mine).toEqual([key]);
      // The release of the first must not have freed what the second holds.
      expect((await there.tryTake([key], EPOCH, LONG)).mine).toEqual([]);
      await lock.succeed('it');
    }
  });
});

describe('a waiter for another process', () => {
  /** Only the timers that locks use stand still. */
  function holdTimers(): void {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  it('is woken by a message', async () => {
    const [here, there] = both(await openEmbedded());
    const holder = await here.tryTake([ONE, TWO], EPOCH, LONG);
    holdTimers();
    const one = state(there.wait(await there.tryTake([ONE], EPOCH, LONG), never()));
    const two = state(there.wait(await there.tryTake([TWO], EPOCH, LONG), never()));
    await settled();
    expect([one.is, two.is]).toEqual(['waiting', 'waiting']);
    await holder.drop([ONE]);
    await settled();
    expect([one.is, two.is]).toEqual(['got null', 'waiting']);
    await holder.succeed('it');
    await settled();
    expect(two.is).toBe('got null');
  });

  it('looks by itself within a fifth of a second when the message is lost', async () => {
    const store = await openEmbedded();
    const [here, there] = [processOn(store), processOn(withoutBus(store))];
    const holder = await here.tryTake([ONE], EPOCH, LONG);
    holdTimers();
    const one = state(there.wait(await there.tryTake([ONE], EPOCH, LONG), never()));
    await holder.succeed('it');
    await settled();
    expect(one.is).toBe('waiting');
    vi.advanceTimersByTime(199);
    await settled();
    expect(one.is).toBe('waiting');
    vi.advanceTimersByTime(1);
    await settled();
    expect(one.is).toBe('got null');
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });
});

describe('a lease', () => {
  const renewing = async (clock: TestClock) => {
    const store = await openEmbedded(clock);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return both(store);
  };

  it('is renewed while its call lasts, however long', async () => {
    const clock = createStandingClock();
    const [here, there] = await renewing(clock);
    const holder = await here.tryTake([ONE, TWO], EPOCH, LONG);
    for (let second = 0; second < 12; second++) {
      clock.advanceMonotonic(1000);
      await vi.advanceTimersByTimeAsync(1000);
      expect((await there.tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([]);
    }
    await holder.succeed('it');
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('is no longer renewed for keys that were dropped', async () => {
    const clock = createStandingClock();
    const [here, there] = await renewing(clock);
    const holder = await here.tryTake([ONE, TWO], EPOCH, LONG);
    await holder.drop([ONE]);
    const taker = await there.tryTake([ONE], EPOCH, LONG);
    expect(taker.mine).toEqual([ONE]);
    await vi.advanceTimersByTimeAsync(1000);
    await taker.succeed('it');
    expect((await there.tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('lapses 4 s after its holder was last heard of', async () => {
    const clock = createStandingClock();
    const [here, there] = await renewing(clock);
    await here.tryTake([ONE], EPOCH, LONG);
    clock.advanceMonotonic(3999);
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([]);
    clock.advanceMonotonic(1);
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('is extended in Redis, and let go of there when the call is over', async () => {
    const locks = processOn(await openRedis(), 100, 'renewed');
    const lock = await locks.tryTake([ONE], EPOCH, LONG);
    await withControl(redis.url, async (control) => {
      const [key] = await control.keys('*{renewed}*');
      expect(await control.pttl(key as string)).toBeGreaterThan(3000);
      await control.pexpire(key as string, 3000);
      await expect.poll(() => control.pttl(key as string)).toBeGreaterThan(3000);
      await lock.succeed('it');
      expect(await control.exists(key as string)).toBe(0);
    });
  });
});
