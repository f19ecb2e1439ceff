import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, type StoreHarness, withStore } from './harness.js';

export function describeLeases(open: OpenHarness): void {
  describe('leases', () => {
    it('gives a name to one owner at a time, and says so for each key', () =>
      withStore(open, async ({ store: { leases } }) => {
        expect(await leases.claim(['{d}1', '{d}2'], 'ann', MINUTE)).toEqual([true, true]);
        expect(await leases.claim(['{d}2', '{d}3', '{d}1'], 'bob', MINUTE)).toEqual([false, true, false]);
        expect(await leases.claim(['{d}3', '{d}2'], 'ann', MINUTE)).toEqual([false, true]);
      }));

    it('lets one of many who claim at once have it', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const owners = Array.from({ length: 20 }, (_, at) => `owner-${at}`);
        const held = await Promise.all(
          owners.map((owner, at) => (stores[at % 2] ?? store).leases.claim(['{d}1'], owner, MINUTE)),
        );
        expect(held.flat().filter(Boolean)).toHaveLength(1);
      }));

    it('ends by itself', () =>
      withStore(open, async ({ store: { leases }, elapse }) => {
        await leases.claim(['{d}1'], 'ann', 2 * MINUTE);
        await elapse(MINUTE);
        expect(await leases.claim(['{d}1'], 'bob', MINUTE)).toEqual([false]);
        await elapse(MINUTE);
        expect(await leases.claim(['{d}1'], 'bob', MINUTE)).toEqual([true]);
      }));

    it('is extended when its owner claims or renews it', () =>
      withStore(open, async ({ store: { leases }, elapse }) => {
        await leases.claim(['{d}1', '{d}2'], 'ann', 2 * MINUTE);
        await elapse(MINUTE);
        expect(await leases.claim(['{d}1'], 'ann', 2 * MINUTE)).toEqual([true]);
        expect(await leases.renew(['{d}2'], 'ann', 2 * MINUTE)).toEqual([true]);
        await elapse(1.5 * MINUTE);
        expect(await leases.claim(['{d}1', '{d}2'], 'bob', MINUTE)).toEqual([false, false]);
      }));

    it('renews only what is still held', () =>
      withStore(open, async ({ store: { leases }, elapse }) => {
        await leases.claim(['{d}1', '{d}2'], 'ann', MINUTE);
        await leases.claim(['{d}3'], 'bob', 3 * MINUTE);
        await elapse(2 * MINUTE);
        await leases.claim(['{d}2'], 'ann', MINUTE);
        expect(await leases.renew(['{d}1', '{d}2', '{d}3', '{d}4'], 'ann', MINUTE)).toEqual([
          false,
          true,
          false,
          false,
        ]);
        // A renewal that came too late must not have made a lease.
        expect(await leases.claim(['{d}1', '{d}4'], 'bob', MINUTE)).toEqual([true, true]);
      }));

    it('releases only what the owner holds', () =>
      withStore(open, async ({ store: { leases } }) => {
        await leases.claim(['{d}1'], 'ann', MINUTE);
        await leases.claim(['{d}2'], 'bob', MINUTE);
        await leases.release(['{d}1', '{d}2', '{d}3'], 'ann');
        expect(await leases.claim(['{d}1', '{d}2'], 'cid', MINUTE)).toEqual([true, false]);
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
      withStore(open, (harness) => fc.assert(tableProperty(harness), { numRuns: 40 })));
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
