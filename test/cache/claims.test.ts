import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Claims, createClaims } from '../../src/cache/claims.js';
import type { Store } from '../../src/store/port.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { openStore, withControl } from '../store/redis/open-store.js';
import { codeOf } from '../support/problems.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { openEmbedded, withoutBus } from '../support/shared-registry.js';
import { createTestClock, type TestClock } from '../support/test-clock.js';

const DAYS = ['{s}:d:1', '{s}:d:2', '{s}:d:3', '{s}:d:4'] as const;
const [ONE, TWO, THREE, FOUR] = DAYS;
const EPOCH = 0;
const never = () => new AbortController().signal;
const state = (promise: Promise<unknown>) => {
  const seen = { is: 'waiting' };
  promise.then(
    (value) => {
      seen.is = `got ${value}`;
    },
    (error: unknown) => {
      seen.is = `failed: ${(error as Error).message}`;
    },
  );
  return seen;
};
/** Lets everything that is due now happen, messages within the process too. */
const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** A process: its own claims on a store. Values are texts that tell who brought them. */
function processOn(store: Pick<Store, 'leases' | 'bus'>, maxWaiting = 100): Claims<string> {
  const claims = createClaims<string>({
    leases: store.leases,
    bus: store.bus,
    logger: createRecordedLog().logger,
    maxWaiting,
  });
  onTestFinished(() => claims.stop());
  return claims;
}

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

describe('within one process', () => {
  it('shares what is under way, and gives free keys to whoever asks', async () => {
    const claims = processOn(await openEmbedded());
    const first = await claims.take([ONE, TWO], EPOCH);
    const second = await claims.take([TWO, THREE], EPOCH);
    expect([first.mine, first.others]).toEqual([[ONE, TWO], []]);
    expect([second.mine, second.others]).toEqual([[THREE], [TWO]]);
    const waiting = claims.wait(second, never());
    await first.succeed('brought by the first');
    expect(await waiting).toBe('brought by the first');
    // Everything of the first is free again, what the second holds is not.
    const third = await claims.take(DAYS, EPOCH);
    expect([third.mine, third.others]).toEqual([[ONE, TWO, FOUR], [THREE]]);
  });

  it('gives one asker each key, however many ask at once', async () => {
    const claims = processOn(await openEmbedded());
    const taken = await Promise.all(Array.from({ length: 50 }, () => claims.take(DAYS, EPOCH)));
    expect(taken.flatMap(({ mine }) => mine).sort()).toEqual([...DAYS]);
  });

  it('tells all that wait, once', async () => {
    const claims = processOn(await openEmbedded());
    const holder = await claims.take([ONE], EPOCH);
    const waiters = await Promise.all(Array.from({ length: 20 }, () => claims.take([ONE], EPOCH)));
    const waits = waiters.map((waiter) => claims.wait(waiter, never()));
    expect(claims.waiting).toBe(20);
    await holder.succeed('it');
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['it']));
    expect(claims.waiting).toBe(0);
  });

  it('gives the failure of the call to those that wait for it, and frees the key', async () => {
    const claims = processOn(await openEmbedded());
    const holder = await claims.take([ONE], EPOCH);
    const wait = claims.wait(await claims.take([ONE], EPOCH), never());
    await Promise.all([
      expect(wait).rejects.toThrow('the platform failed'),
      holder.fail(new Error('the platform failed')),
    ]);
    expect((await claims.take([ONE], EPOCH)).mine).toEqual([ONE]);
  });

  it('does not break when nobody waits for a failure', async () => {
    const claims = processOn(await openEmbedded());
    await (await claims.take([ONE], EPOCH)).fail(new Error('nobody listens'));
    await settled();
    expect((await claims.take([ONE], EPOCH)).mine).toEqual([ONE]);
  });

  it('frees what is dropped at once, with nothing in hand, and keeps the rest', async () => {
    const store = await openEmbedded();
    const claims = processOn(store);
    const holder = await claims.take([ONE, TWO], EPOCH);
    const [forOne, forTwo] = [await claims.take([ONE], EPOCH), await claims.take([TWO], EPOCH)];
    const [one, two] = [state(claims.wait(forOne, never())), state(claims.wait(forTwo, never()))];
    await holder.drop([ONE]);
    await settled();
    expect([one.is, two.is]).toEqual(['got null', 'waiting']);
    expect((await claims.take([ONE, TWO], EPOCH)).mine).toEqual([ONE]);
    const next = state(claims.wait(await claims.take([ONE], EPOCH), never()));
    await holder.succeed('the second');
    await settled();
    // What was dropped is somebody else's by now.
    expect([two.is, next.is]).toEqual(['got the second', 'waiting']);
    expect((await processOn(store).take([ONE, TWO], EPOCH)).mine).toEqual([TWO]);
  });

  it('lets nobody who asks after a purge wait for what was asked for before it', async () => {
    const claims = processOn(await openEmbedded());
    await claims.take([ONE], 1);
    const after = await claims.take([ONE], 2);
    expect([after.mine, after.others, after.epoch]).toEqual([[ONE], [], 2]);
    expect((await claims.take([ONE], 1)).others).toEqual([ONE]);
  });

  it('knows what its own calls have under way, all of it and under that purge', async () => {
    const store = await openEmbedded();
    const [claims, elsewhere] = [processOn(store), processOn(store)];
    const claim = await claims.take([ONE, TWO], 1);
    await elsewhere.take([THREE], 1);
    expect(claims.areUnderWay([ONE, TWO], 1)).toBe(true);
    expect([claims.areUnderWay([TWO, THREE], 1), claims.areUnderWay([ONE], 2)]).toEqual([false, false]);
    await claim.drop([ONE]);
    expect([claims.areUnderWay([ONE], 1), claims.areUnderWay([TWO], 1)]).toEqual([false, true]);
    await claim.succeed('it');
    expect(claims.areUnderWay([TWO], 1)).toBe(false);
  });

  it('lets only so many wait', async () => {
    const claims = processOn(await openEmbedded(), 2);
    const holder = await claims.take([ONE], EPOCH);
    const waiter = await claims.take([ONE], EPOCH);
    const waits = [claims.wait(waiter, never()), claims.wait(waiter, never())];
    const refused = await claims.wait(waiter, never()).catch((error: unknown) => error);
    expect(codeOf(() => throwIt(refused))).toBe('overloaded');
    await holder.succeed('it');
    await Promise.all(waits);
    // There is room again.
    expect(await claims.wait(await taken(claims), never())).toBe(null);
  });

  it('ends a wait when its time is up, and forgets it', async () => {
    const claims = processOn(await openEmbedded());
    await claims.take([ONE], EPOCH);
    const waiter = await claims.take([ONE], EPOCH);
    const late = new AbortController();
    const wait = claims.wait(waiter, late.signal);
    const watched = state(wait);
    await settled();
    expect(watched.is).toBe('waiting');
    late.abort();
    const error = await wait.catch((one: unknown) => one);
    expect(codeOf(() => throwIt(error))).toBe('upstream_timeout');
    expect(claims.waiting).toBe(0);
    const already = await claims.wait(waiter, late.signal).catch((one: unknown) => one);
    expect(codeOf(() => throwIt(already))).toBe('upstream_timeout');
  });
});

function throwIt(error: unknown): never {
  throw error;
}

/** A claim on a key that another process holds, and lets go of at the next look. */
async function taken(claims: Claims<string>) {
  const holder = await claims.take([FOUR], EPOCH);
  const waiter = await claims.take([FOUR], EPOCH);
  await holder.drop([FOUR]);
  return waiter;
}

interface Pair {
  readonly stores: readonly [Store, Store];
}
const PAIRS: Readonly<Record<string, () => Promise<Pair>>> = {
  'two handles of one Redis': async () => ({ stores: [await openRedis(), await openRedis()] }),
  'one embedded store': async () => {
    const store = await openEmbedded();
    return { stores: [store, store] };
  },
};

describe.each(Object.entries(PAIRS))('between two processes on %s', (kind, open) => {
  /** Keys of this run alone, for the server is shared by the tests of this file. */
  let serial = 0;
  const fresh = () => {
    serial += 1;
    return [`{${kind[0]}${serial}}:1`, `{${kind[0]}${serial}}:2`] as const;
  };

  it('gives each key to one of them', async () => {
    const [one, two] = (await open()).stores.map((store) => processOn(store)) as [
      Claims<string>,
      Claims<string>,
    ];
    const keys = Array.from({ length: 40 }, (_, index) => `{many}:${kind}:${index}`);
    const claims = await Promise.all([
      one.take(keys.slice(0, 30), EPOCH),
      two.take(keys.slice(10), EPOCH),
      one.take(keys, EPOCH),
      two.take(keys, EPOCH),
    ]);
    expect(claims.flatMap(({ mine }) => mine).sort()).toEqual([...keys].sort());
    for (const { mine, others } of claims) expect(mine.filter((key) => others.includes(key))).toEqual([]);
  });

  it.each(['succeed', 'fail', 'drop'] as const)('frees a key for the other by %s', async (end) => {
    const [here, there] = (await open()).stores.map((store) => processOn(store)) as [
      Claims<string>,
      Claims<string>,
    ];
    const [first, second] = fresh();
    const holder = await here.take([first, second], EPOCH);
    const waiter = await there.take([first], EPOCH);
    expect([waiter.mine, waiter.others]).toEqual([[], [first]]);
    if (end === 'succeed') await holder.succeed('it');
    if (end === 'fail') await holder.fail(new Error('refused'));
    if (end === 'drop') await holder.drop([first]);
    // What was brought is in the store, a failure is the other's own: the waiter looks, and may take over.
    expect(await there.wait(waiter, never())).toBeNull();
    const next = await there.take([first, second], EPOCH);
    expect(next.mine).toEqual(end === 'drop' ? [first] : [first, second]);
  });

  it('claims apart what was asked for before and after a purge', async () => {
    const [here, there] = (await open()).stores.map((store) => processOn(store)) as [
      Claims<string>,
      Claims<string>,
    ];
    const [key] = fresh();
    await here.take([key], 1);
    expect((await there.take([key], 1)).mine).toEqual([]);
    expect((await there.take([key], 2)).mine).toEqual([key]);
  });

  it('keeps for the next one in this process what it takes up the moment it is free', async () => {
    const [here, there] = (await open()).stores.map((store) => processOn(store)) as [
      Claims<string>,
      Claims<string>,
    ];
    const [key] = fresh();
    for (let round = 0; round < 20; round++) {
      const holder = await here.take([key], EPOCH);
      const waiter = await here.take([key], EPOCH);
      const next = here.wait(waiter, never()).then(() => here.take([key], EPOCH));
      const [, claim] = await Promise.all([holder.succeed('it'), next]);
      expect(claim.mine).toEqual([key]);
      // The release of the first must not have freed what the second holds.
      expect((await there.take([key], EPOCH)).mine).toEqual([]);
      await claim.succeed('it');
    }
  });
});

describe('a waiter for another process', () => {
  /** Only the timers that claims use stand still. */
  function holdTimers(): void {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  it('is woken by a message', async () => {
    const store = await openEmbedded();
    const [here, there] = [processOn(store), processOn(store)];
    const holder = await here.take([ONE, TWO], EPOCH);
    holdTimers();
    const one = state(there.wait(await there.take([ONE], EPOCH), never()));
    const two = state(there.wait(await there.take([TWO], EPOCH), never()));
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
    const holder = await here.take([ONE], EPOCH);
    holdTimers();
    const one = state(there.wait(await there.take([ONE], EPOCH), never()));
    await holder.succeed('it');
    await settled();
    expect(one.is).toBe('waiting');
    vi.advanceTimersByTime(199);
    await settled();
    expect(one.is).toBe('waiting');
    vi.advanceTimersByTime(1);
    await settled();
    expect(one.is).toBe('got null');
    expect((await there.take([ONE], EPOCH)).mine).toEqual([ONE]);
  });

  it('is not woken by a message about another key', async () => {
    const store = await openEmbedded();
    const [here, there] = [processOn(store), processOn(store)];
    await here.take([ONE], EPOCH);
    const other = await here.take(['{other}:1'], EPOCH);
    holdTimers();
    const one = state(there.wait(await there.take([ONE], EPOCH), never()));
    await other.succeed('it');
    await settled();
    expect(one.is).toBe('waiting');
  });
});

describe('a lease', () => {
  const renewing = async (clock: TestClock) => {
    const store = await openEmbedded(clock);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return [processOn(store), processOn(store)] as const;
  };

  it('is renewed while its call lasts, however long', async () => {
    const clock = createTestClock();
    const [here, there] = await renewing(clock);
    const holder = await here.take([ONE, TWO], EPOCH);
    for (let second = 0; second < 12; second++) {
      clock.advanceMonotonic(1000);
      await vi.advanceTimersByTimeAsync(1000);
      expect((await there.take([ONE, TWO], EPOCH)).mine).toEqual([]);
    }
    await holder.succeed('it');
    expect((await there.take([ONE], EPOCH)).mine).toEqual([ONE]);
  });

  it('is no longer renewed for keys that were dropped', async () => {
    const clock = createTestClock();
    const [here, there] = await renewing(clock);
    const holder = await here.take([ONE, TWO], EPOCH);
    await holder.drop([ONE]);
    const taker = await there.take([ONE], EPOCH);
    expect(taker.mine).toEqual([ONE]);
    await vi.advanceTimersByTimeAsync(1000);
    await taker.succeed('it');
    expect((await there.take([ONE, TWO], EPOCH)).mine).toEqual([ONE]);
  });

  it('lapses 4 s after its holder was last heard of', async () => {
    const clock = createTestClock();
    const [here, there] = await renewing(clock);
    await here.take([ONE], EPOCH);
    clock.advanceMonotonic(3999);
    expect((await there.take([ONE], EPOCH)).mine).toEqual([]);
    clock.advanceMonotonic(1);
    expect((await there.take([ONE], EPOCH)).mine).toEqual([ONE]);
  });

  it('is extended in Redis, and let go of there when the call is over', async () => {
    const claims = processOn(await openRedis());
    const claim = await claims.take(['{renewed}:1'], EPOCH);
    await withControl(redis.url, async (control) => {
      const [key] = await control.keys('*{renewed}*');
      expect(await control.pttl(key as string)).toBeGreaterThan(3000);
      await control.pexpire(key as string, 3000);
      await expect.poll(() => control.pttl(key as string), { timeout: 5000 }).toBeGreaterThan(3000);
      await claim.succeed('it');
      expect(await control.exists(key as string)).toBe(0);
    });
  });
});

describe('with the store away', () => {
  it('claims everything, so that each process fetches for itself, and still shares within it', async () => {
    const store = await openEmbedded();
    const away = async () => {
      throw new StoreUnavailable('away');
    };
    const broken = {
      leases: { claim: away, renew: away, release: away },
      bus: { publish: away, subscribe: () => () => {} },
    };
    const claims = processOn({ ...store, ...broken });
    const first = await claims.take([ONE, TWO], EPOCH);
    const second = await claims.take([TWO, THREE], EPOCH);
    expect([first.mine, second.mine, second.others]).toEqual([[ONE, TWO], [THREE], [TWO]]);
    const wait = claims.wait(second, never());
    await first.succeed('it');
    expect(await wait).toBe('it');
  });
});
