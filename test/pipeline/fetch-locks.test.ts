import { describe, expect, it } from 'vitest';
import type { Claims } from '../../src/pipeline/fetch-locks.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { codeOf } from '../support/problems.js';
import { openEmbedded } from '../support/shared-registry.js';
import { DAYS, EPOCH, FOUR, LONG, never, ONE, processOn, settled, state, THREE, TWO } from './locking.js';

describe('within one process', () => {
  it('shares what is under way, and gives free keys to whoever asks', async () => {
    const claims = processOn(await openEmbedded());
    const first = await claims.take([ONE, TWO], EPOCH, LONG);
    const second = await claims.take([TWO, THREE], EPOCH, LONG);
    expect([first.mine, first.others]).toEqual([[ONE, TWO], []]);
    expect([second.mine, second.others]).toEqual([[THREE], [TWO]]);
    const waiting = claims.wait(second, never());
    await first.succeed('brought by the first');
    expect(await waiting).toBe('brought by the first');
    // Everything of the first is free again, what the second holds is not.
    const third = await claims.take(DAYS, EPOCH, LONG);
    expect([third.mine, third.others]).toEqual([[ONE, TWO, FOUR], [THREE]]);
  });

  it('gives one asker each key, however many ask at once', async () => {
    const claims = processOn(await openEmbedded());
    const taken = await Promise.all(Array.from({ length: 50 }, () => claims.take(DAYS, EPOCH, LONG)));
    expect(taken.flatMap(({ mine }) => mine).sort()).toEqual([...DAYS]);
  });

  it('tells all that wait, once', async () => {
    const claims = processOn(await openEmbedded());
    const holder = await claims.take([ONE], EPOCH, LONG);
    const waiters = await Promise.all(Array.from({ length: 20 }, () => claims.take([ONE], EPOCH, LONG)));
    const waits = waiters.map((waiter) => claims.wait(waiter, never()));
    expect(claims.waiting).toBe(20);
    await holder.succeed('it');
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['it']));
    expect(claims.waiting).toBe(0);
  });

  it('gives the failure of the call to those that wait for it, and frees the key', async () => {
    const claims = processOn(await openEmbedded());
    const holder = await claims.take([ONE], EPOCH, LONG);
    const wait = claims.wait(await claims.take([ONE], EPOCH, LONG), never());
    await Promise.all([
      expect(wait).rejects.toThrow('the platform failed'),
      holder.fail(new Error('the platform failed')),
    ]);
    expect((await claims.take([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('does not break when nobody waits for a failure', async () => {
    const claims = processOn(await openEmbedded());
    await (await claims.take([ONE], EPOCH, LONG)).fail(new Error('nobody listens'));
    await settled();
    expect((await claims.take([ONE], EPOCH, LONG)).mine).toEqual([ONE]);
  });

  it('frees what is dropped at once, with nothing in hand, and keeps the rest', async () => {
    const store = await openEmbedded();
    const claims = processOn(store);
    const holder = await claims.take([ONE, TWO], EPOCH, LONG);
    const [forOne, forTwo] = [await claims.take([ONE], EPOCH, LONG), await claims.take([TWO], EPOCH, LONG)];
    const [one, two] = [state(claims.wait(forOne, never())), state(claims.wait(forTwo, never()))];
    await holder.drop([ONE]);
    await settled();
    expect([one.is, two.is]).toEqual(['got null', 'waiting']);
    expect((await claims.take([ONE, TWO], EPOCH, LONG)).mine).toEqual([ONE]);
    const next = state(claims.wait(await claims.take([ONE], EPOCH, LONG), never()));
    await holder.succeed('the second');
    await settled();
    // What was dropped is somebody else's by now.
    expect([two.is, next.is]).toEqual(['got the second', 'waiting']);
    expect((await processOn(store).take([ONE, TWO], EPOCH, LONG)).mine).toEqual([TWO]);
  });

  it('lets nobody who asks after a purge wait for what was asked for before it', async () => {
    const claims = processOn(await openEmbedded());
    await claims.take([ONE], 1, LONG);
    const after = await claims.take([ONE], 2, LONG);
    expect([after.mine, after.others, after.epoch]).toEqual([[ONE], [], 2]);
    expect((await claims.take([ONE], 1, LONG)).others).toEqual([ONE]);
  });

  it('knows what its own calls have under way, all of it and under that purge', async () => {
    const store = await openEmbedded();
    const [claims, elsewhere] = [processOn(store), processOn(store)];
    const claim = await claims.take([ONE, TWO], 1, LONG);
    await elsewhere.take([THREE], 1, LONG);
    expect(claims.areUnderWay([ONE, TWO], 1)).toBe(true);
    expect([claims.areUnderWay([TWO, THREE], 1), claims.areUnderWay([ONE], 2)]).toEqual([false, false]);
    await claim.drop([ONE]);
    expect([claims.areUnderWay([ONE], 1), claims.areUnderWay([TWO], 1)]).toEqual([false, true]);
    await claim.succeed('it');
    expect(claims.areUnderWay([TWO], 1)).toBe(false);
  });

  it('lets only so many wait', async () => {
    const claims = processOn(await openEmbedded(), 2);
    const holder = await claims.take([ONE], EPOCH, LONG);
    const waiter = await claims.take([ONE], EPOCH, LONG);
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
    await claims.take([ONE], EPOCH, LONG);
    const waiter = await claims.take([ONE], EPOCH, LONG);
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
  const holder = await claims.take([FOUR], EPOCH, LONG);
  const waiter = await claims.take([FOUR], EPOCH, LONG);
  await holder.drop([FOUR]);
  return waiter;
}

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
    const first = await claims.take([ONE, TWO], EPOCH, LONG);
    const second = await claims.take([TWO, THREE], EPOCH, LONG);
    expect([first.mine, second.mine, second.others]).toEqual([[ONE, TWO], [THREE], [TWO]]);
    const wait = claims.wait(second, never());
    await first.succeed('it');
    expect(await wait).toBe('it');
  });
});
