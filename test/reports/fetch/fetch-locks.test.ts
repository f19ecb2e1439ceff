/** Locks of fetches within one process, and how they end. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMemoryLeases } from '../../../src/store/embedded/embedded-store.js';
import { createLocalBus } from '../../../src/store/listeners.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { codeOf } from '../../support/problems.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, type TestClock } from '../../support/test-clock.js';
import {
  DAYS,
  EPOCH,
  FOUR,
  LONG,
  type LockStore,
  never,
  ONE,
  type ProcessLocks,
  processOn,
  settled,
  state,
  THREE,
  TWO,
} from './locking.js';

describe('within one process', () => {
  it('shares what is under way, and gives free keys to whoever asks', async () => {
    const locks = processOn(await openInMemory());
    const first = await locks.tryTake([ONE, TWO], EPOCH, LONG);
    const second = await locks.tryTake([TWO, THREE], EPOCH, LONG);
    expect([first.mine, first.others]).toEqual([[ONE, TWO], []]);
    expect([second.mine, second.others]).toEqual([[THREE], [TWO]]);
    const waiting = locks.wait(second, never());
    await first.succeed('brought by the first');
    expect(await waiting).toBe('brought by the first');
    // Everything of the first is free again, what the second holds is not.
    const third = await locks.tryTake(DAYS, EPOCH, LONG);
    expect([third.mine, third.others]).toEqual([[ONE, TWO, FOUR], [THREE]]);
  });

  it('gives one asker each key, however many ask at once', async () => {
    const locks = processOn(await openInMemory());
    const taken = await Promise.all(Array.from({ length: 50 }, () => locks.tryTake(DAYS, EPOCH, LONG)));
    expect(taken.flatMap(({ mine }) => mine).sort()).toEqual([...DAYS]);
  });

  it('tells all that wait, once', async () => {
    const locks = processOn(await openInMemory());
    const holder = await locks.tryTake([ONE], EPOCH, LONG);
    const waiters = await Promise.all(Array.from({ length: 20 }, () => locks.tryTake([ONE], EPOCH, LONG)));
    const waits = waiters.map((waiter) => locks.wait(waiter, never()));
    expect(locks.waiting).toBe(20);
    await holder.succeed('it');
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['it']));
    expect(locks.waiting).toBe(0);
  });

  it('gives the failure of the call to those that wait for it, and frees the key', async () => {
    const locks = processOn(await openInMemory());
    // One that nobody waits for breaks nothing.
    await (await locks.tryTake([ONE], EPOCH, LONG)).fail(new Error('nobody listens'));
    await settled();
    const holder = await locks.tryTake([ONE], EPOCH, LONG);
    const wait = locks.wait(await locks.tryTake([ONE], EPOCH, LONG), never());
    await Promise.all([
      expect(wait).rejects.toThrow('the platform failed'),
      holder.fail(new Error('the platform failed')),
    ]);
    expect((await locks.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('frees what is dropped at once, with nothing in hand, and keeps the rest', async () => {
    const store = await openInMemory();
    const locks = processOn(store);
    const holder = await locks.tryTake([ONE, TWO], EPOCH, LONG);
    const [forOne, forTwo] = [
      await locks.tryTake([ONE], EPOCH, LONG),
      await locks.tryTake([TWO], EPOCH, LONG),
    ];
    const [one, two] = [state(locks.wait(forOne, never())), state(locks.wait(forTwo, never()))];
    await holder.drop([ONE]);
    await settled();
    expect([one.is, two.is]).toEqual(['got null', 'waiting']);
    expect((await locks.tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([ONE]);
    const next = state(locks.wait(await locks.tryTake([ONE], EPOCH, LONG), never()));
    await holder.succeed('the second');
    await settled();
    // What was dropped is somebody else's by now.
    expect([two.is, next.is]).toEqual(['got the second', 'waiting']);
    expect((await processOn(store).tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([TWO]);
  });

  it('lets nobody who asks after a purge wait for what was asked for before it', async () => {
    const locks = processOn(await openInMemory());
    await locks.tryTake([ONE], 1, LONG);
    const after = await locks.tryTake([ONE], 2, LONG);
    expect([after.mine, after.others, after.epoch]).toEqual([[ONE], [], 2]);
    expect((await locks.tryTake([ONE], 1, LONG)).others).toEqual([ONE]);
  });

  it('knows what its own calls have under way, all of it and under that purge', async () => {
    const store = await openInMemory();
    const [locks, elsewhere] = [processOn(store), processOn(store)];
    const lock = await locks.tryTake([ONE, TWO], 1, LONG);
    await elsewhere.tryTake([THREE], 1, LONG);
    expect(locks.areUnderWay([ONE, TWO], 1)).toBe(true);
    expect([locks.areUnderWay([TWO, THREE], 1), locks.areUnderWay([ONE], 2)]).toEqual([false, false]);
    await lock.drop([ONE]);
    expect([locks.areUnderWay([ONE], 1), locks.areUnderWay([TWO], 1)]).toEqual([false, true]);
    await lock.succeed('it');
    expect(locks.areUnderWay([TWO], 1)).toBe(false);
  });

  it('lets only so many wait', async () => {
    const locks = processOn(await openInMemory(), 2);
    const holder = await locks.tryTake([ONE], EPOCH, LONG);
    const waiter = await locks.tryTake([ONE], EPOCH, LONG);
    const waits = [locks.wait(waiter, never()), locks.wait(waiter, never())];
    const refused = await locks.wait(waiter, never()).catch((error: unknown) => error);
    expect(codeOf(() => throwIt(refused))).toBe('overloaded');
    await holder.succeed('it');
    await Promise.all(waits);
    // There is room again.
    expect(await locks.wait(await taken(locks), never())).toBe(null);
  });

  it('ends a wait when its time is up, and forgets it', async () => {
    const locks = processOn(await openInMemory());
    await locks.tryTake([ONE], EPOCH, LONG);
    const waiter = await locks.tryTake([ONE], EPOCH, LONG);
    const late = new AbortController();
    const wait = locks.wait(waiter, late.signal);
    const watched = state(wait);
    await settled();
    expect(watched.is).toBe('waiting');
    late.abort();
    const error = await wait.catch((one: unknown) => one);
    expect(codeOf(() => throwIt(error))).toBe('upstream_timeout');
    expect(locks.waiting).toBe(0);
    const already = await locks.wait(waiter, late.signal).catch((one: unknown) => one);
    expect(codeOf(() => throwIt(already))).toBe('upstream_timeout');
  });
});

function throwIt(error: unknown): never {
  throw error;
}

/** A lock on a key that another process holds, and lets go of at the next look. */
async function taken(locks: ProcessLocks) {
  const holder = await locks.tryTake([FOUR], EPOCH, LONG);
  const waiter = await locks.tryTake([FOUR], EPOCH, LONG);
  await holder.drop([FOUR]);
  return waiter;
}

describe('with the store away', () => {
  it('locks everything, so that each process fetches for itself, and still shares within it', async () => {
    const store = await openInMemory();
    const away = async () => {
      throw new StoreUnavailable('away');
    };
    const broken = {
      days: { claim: away, renew: away, release: away },
      bus: { publish: away, subscribe: () => () => {} },
    };
    const locks = processOn({ ...store, ...broken });
    const first = await locks.tryTake([ONE, TWO], EPOCH, LONG);
    const second = await locks.tryTake([TWO, THREE], EPOCH, LONG);
    expect([first.mine, second.mine, second.others]).toEqual([[ONE, TWO], [THREE], [TWO]]);
    const wait = locks.wait(second, never());
    await first.succeed('it');
    expect(await wait).toBe('it');
  });
});

/** Leases and messages that take no time of the machine's. */
function openShared(clock: TestClock): LockStore {
  const leases = createMemoryLeases(clock, (channel, message) => bus.publish(channel, message));
  const bus = createLocalBus(createRecordedLog().logger);
  return {
    bus,
    days: {
      claim: async (_series, { names, owner, leaseMs }) => ({
        held: await leases.claim(names, owner, leaseMs),
        order: 1,
        clockUs: 0,
        changed: new Map(),
        earlier: new Map(),
      }),
      renew: (_series, { names, owner, leaseMs }) => leases.renew(names, owner, leaseMs),
      release: (_series, { names, owner, news }) => leases.release(names, owner, news),
    },
  };
}

/** Grants leases as the store does, but tells of it only when the gate opens. */
function withGate(store: LockStore) {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const days: LockStore['days'] = {
    ...store.days,
    async claim(...args) {
      const claimed = await store.days.claim(...args);
      await gate;
      return claimed;
    },
  };
  return { store: { ...store, days }, open: () => open() };
}

describe('a lock whose asker has given up before it was granted', () => {
  it('is let go, in this process and between processes, and the asker is told why', async () => {
    const store = openShared(createTestClock());
    const gated = withGate(store);
    const [late, elsewhere] = [processOn(gated.store), processOn(store)];
    const asker = new AbortController();
    const taking = state(late.tryTake([ONE, TWO], EPOCH, { ...LONG, signal: asker.signal }));
    await settled();
    const follower = state(late.wait({ others: [ONE], epoch: EPOCH }, never()));
    asker.abort(new Error('time is up'));
    await settled();
    expect([taking.is, follower.is]).toEqual(['waiting', 'waiting']);
    gated.open();
    await settled();
    expect([taking.is, follower.is]).toEqual(['failed: time is up', 'got null']);
    expect((await elsewhere.tryTake([ONE, TWO], EPOCH, LONG)).mine).toEqual([ONE, TWO]);
  });
});

describe('a lock that nobody ends', () => {
  const SHORT = { signal: never(), leftMs: () => 2000 };

  async function passing(clock: TestClock, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      clock.advanceMonotonic(500);
      await vi.advanceTimersByTimeAsync(500);
    }
  }

  function pair(clock: TestClock) {
    const store = openShared(clock);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return [processOn(store), processOn(store)] as const;
  }

  it('ends by itself five seconds after the time of its call', async () => {
    const clock = createTestClock();
    const [here, there] = pair(clock);
    const lost = await here.tryTake([ONE], EPOCH, SHORT);
    await passing(clock, 6500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    expect(here.areUnderWay([ONE], EPOCH)).toBe(true);
    await passing(clock, 500);
    expect(here.areUnderWay([ONE], EPOCH)).toBe(false);
    const next = await there.tryTake([ONE], EPOCH, LONG);
    expect(next.mine).toEqual([ONE]);
    // What comes of the lost one after all is nothing to whoever holds the key now.
    await next.drop([ONE]);
    const again = await here.tryTake([ONE], EPOCH, LONG);
    await lost.succeed('too late');
    expect([again.mine, here.areUnderWay([ONE], EPOCH)]).toEqual([[ONE], true]);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    await again.drop([ONE]);
  });

  it('lives on for as long as the next call under it may take', async () => {
    const clock = createTestClock();
    const [here, there] = pair(clock);
    const holder = await here.tryTake([ONE], EPOCH, SHORT);
    await passing(clock, 6500);
    holder.prolong(2000);
    await passing(clock, 6500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).others).toEqual([ONE]);
    await passing(clock, 500);
    expect((await there.tryTake([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });
});
