import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MINUTE } from '../support/test-clock.js';
import { forget } from './entries.js';
import { type OpenHarness, type StoreHarness, withStore } from './harness.js';

/** Long, because a loaded machine is slow; nothing waits for it to pass. */
const PATIENCE_MS = 20_000;

export function describeLeases(open: OpenHarness): void {
  describe('leases', () => {
    it('lets one of many who claim at once have it', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const owners = Array.from({ length: 20 }, (_, at) => `owner-${at}`);
        const held = await Promise.all(
          owners.map((owner, at) => (stores[at % 2] ?? store).leases.claim(['{d}1'], owner, MINUTE)),
        );
        expect(held.flat().filter(Boolean)).toHaveLength(1);
      }));

    it('says on the bus what was released, when it is free', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const free: Promise<boolean[]>[] = [];
        const end = other.bus.subscribe('news', (message) => {
          free.push(other.leases.claim([message], 'bob', MINUTE));
        });
        await store.leases.claim(['{d}1', '{d}2'], 'ann', MINUTE);
        await vi.waitFor(async () => {
          // Who has only just subscribed may miss the first.
          await store.leases.release(['{d}1'], 'ann', { channel: 'news', message: '{d}1' });
          expect(free.length).toBeGreaterThan(0);
        }, PATIENCE_MS);
        expect(await free[0]).toEqual([true]);
        expect(await store.leases.claim(['{d}2'], 'bob', MINUTE)).toEqual([false]);
        end();
      }));

    it('lets what is sent right behind a claim, a read, find what was there when it was granted', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const bytes = Buffer.from('x');
        const write = { id: '{d}f', version: 1, bytes, ttlMs: MINUTE };
        for (let round = 0; round < 20; round += 1) {
          await forget(store.cache, ['{d}f']);
          await other.leases.claim(['{d}1'], 'ann', MINUTE);
          const written = other.cache.write([write]).then(() => other.leases.release(['{d}1'], 'ann'));
          // Whoever is granted it finds what the holder before has written.
          for (let isHeld = false; !isHeld; ) {
            const claiming = store.leases.claim(['{d}1'], 'bob', MINUTE);
            const reading = store.cache.read(['{d}f'], claiming);
            isHeld = (await claiming)[0] === true;
            if (isHeld) expect((await reading)[0]?.bytes).toEqual(bytes);
            await reading;
            await setImmediate();
          }
          await written;
          await store.leases.release(['{d}1'], 'bob');
        }
      }));

    it('reads behind a claim that failed all the same', () =>
      withStore(open, async ({ store: { cache } }) => {
        const failed = Promise.reject(new Error('not granted'));
        failed.catch(() => {});
        expect(await cache.read(['{d}f'], failed)).toEqual([null]);
      }));

    it('takes empty lists', () =>
      withStore(open, async ({ store: { leases } }) => {
        expect(await leases.claim([], 'ann', MINUTE)).toEqual([]);
        expect(await leases.renew([], 'ann', MINUTE)).toEqual([]);
        await leases.release([], 'ann');
      }));

    it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a lease of %d ms', (leaseMs) =>
      withStore(open, async ({ store: { leases } }) => {
        await expect(leases.claim(['{d}1'], 'ann', leaseMs)).rejects.toThrow(RangeError);
        await expect(leases.renew(['{d}1'], 'ann', leaseMs)).rejects.toThrow(RangeError);
        expect(await leases.claim(['{d}1'], 'bob', MINUTE)).toEqual([true]);
      }),
    );

    it('behaves like a table of owners whose rows expire', () =>
      withStore(open, (harness) => fc.assert(tableProperty(harness), { numRuns: 25 })));
  });
}

/** Leases end half-way between the moments looked at, so that the time the test takes changes nothing. */
const TICK = 10 * MINUTE;

function tableProperty({ store: { leases }, elapse }: StoreHarness) {
  const keys = ['{t}1', '{t}2', '{t}3'];
  const owners = ['ann', 'bob'];
  const step = fc.record({
    do: fc.constantFrom('claim', 'renew', 'release', 'elapse'),
    some: fc.subarray(keys, { minLength: 1 }),
    owner: fc.constantFrom(...owners),
    ticks: fc.integer({ min: 0, max: 2 }),
  });
  return fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
    for (const owner of owners) await leases.release(keys, owner);
    const table = new Map<string, { owner: string; ends: number }>();
    let now = 0;
    for (const { do: what, some, owner, ticks } of steps) {
      const holder = (key: string) => {
        const row = table.get(key);
        return row === undefined || now > row.ends ? null : row.owner;
      };
      const leaseMs = ticks * TICK + TICK / 2;
      if (what === 'elapse') {
        await elapse((ticks + 1) * TICK);
        now += ticks + 1;
      } else if (what === 'release') {
        await leases.release(some, owner);
        for (const key of some) if (holder(key) === owner) table.delete(key);
      } else {
        const mayTake = (key: string) => holder(key) === owner || (what === 'claim' && holder(key) === null);
        const expected = some.map(mayTake);
        expect(await leases[what as 'claim' | 'renew'](some, owner, leaseMs)).toEqual(expected);
        for (const [at, key] of some.entries())
          if (expected[at]) table.set(key, { owner, ends: now + ticks });
      }
    }
  });
}
