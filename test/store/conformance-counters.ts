import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CounterAdd, CounterRaise, Store } from '../../src/store/port.js';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, withStore } from './harness.js';

const MOST = Number.MAX_SAFE_INTEGER;

const add = (group: string, field: string, by: number): CounterAdd => ({ group, field, by });
const raise = (group: string, field: string, to: number): CounterRaise => ({ group, field, to });

export function describeCounters(open: OpenHarness): void {
  describe('counters', () => {
    it('take empty lists', () =>
      withStore(open, async ({ store: { counters } }) => {
        await counters.add('1', [], [], MINUTE);
        expect(await counters.read([])).toEqual([]);
      }));

    it('have any names', () =>
      withStore(open, async ({ store: { counters } }) => {
        const names = ['', ' ', '{b}', '__proto__', 'constructor', '1', 'ü✓', ':'];
        await counters.add(
          '__proto__',
          names.flatMap((group) => names.map((field) => add(group, field, 1))),
          [],
          MINUTE,
        );
        const fields = new Map(names.map((name) => [name, 1]));
        expect(await counters.read(names)).toEqual(names.map(() => fields));
      }));

    it('apply a batch once, however often and through whom it is repeated', () =>
      withStore(open, async ({ store, another, elapse }) => {
        const other = await another();
        const batch = [add('a', 'calls', 1), add('b', 'calls', 1)];
        const forAnHour = 60 * MINUTE;
        await store.counters.add('1', batch, [], forAnHour);
        await other.counters.add('1', batch, [], forAnHour);
        await Promise.all(
          [store, other, store].map(({ counters }) => counters.add('2', batch, [], forAnHour)),
        );
        await elapse(9 * MINUTE);
        await store.counters.add('1', batch, [], forAnHour);
        const twice = new Map([['calls', 2]]);
        expect(await store.counters.read(['a', 'b'])).toEqual([twice, twice]);
      }));

    it('keep a group for its lifetime after the last batch that touched it', () =>
      withStore(open, async ({ store: { counters }, elapse }) => {
        const batch = (group: string) => [[add(group, 'calls', 1)], [], 3 * MINUTE] as const;
        await counters.add('1', ...batch('a'));
        await counters.add('2', ...batch('b'));
        await elapse(2 * MINUTE);
        await counters.add('3', ...batch('a'));
        await counters.add('2', ...batch('b')); // repeated, it touches nothing
        await elapse(2 * MINUTE);
        expect(await counters.read(['a', 'b'])).toEqual([new Map([['calls', 2]]), new Map()]);
        await counters.add('4', [], [raise('b', 'calls', -1)], MINUTE);
        expect(await counters.read(['b'])).toEqual([new Map([['calls', -1]])]);
      }));

    it('stop at the last integer that is exact', () =>
      withStore(open, async ({ store: { counters } }) => {
        await counters.add('1', [add('a', 'up', MOST), add('a', 'down', -MOST)], [], MINUTE);
        await counters.add('2', [add('a', 'up', 1), add('a', 'down', -MOST)], [], MINUTE);
        expect(await counters.read(['a'])).toEqual([new Map([['up', MOST], ['down', -MOST]])]); // biome-ignore format: one thought
        await counters.add('3', [add('a', 'up', -1)], [raise('a', 'down', MOST)], MINUTE);
        expect(await counters.read(['a'])).toEqual([new Map([['up', MOST - 1], ['down', MOST]])]); // biome-ignore format: one thought
      }));

    it.each([0.5, MOST + 1, Number.NaN, Number.POSITIVE_INFINITY])('refuse a batch with %d in it', (number) =>
      withStore(open, async ({ store: { counters } }) => {
        const good = [add('a', 'calls', 1)];
        await expect(counters.add('1', [...good, add('a', 'x', number)], [], MINUTE)).rejects.toThrow(
          RangeError,
        );
        await expect(counters.add('1', good, [raise('a', 'x', number)], MINUTE)).rejects.toThrow(RangeError);
        await counters.add('1', good, [], MINUTE);
        expect(await counters.read(['a'])).toEqual([new Map([['calls', 1]])]);
      }),
    );

    it('keep each group of a batch for its own lifetime', () =>
      withStore(open, async ({ store: { counters }, elapse }) => {
        const lifetimes: Readonly<Record<string, number>> = { a: 3 * MINUTE, b: MINUTE, c: 5 * MINUTE };
        const adds = [add('a', 'calls', 1), add('b', 'calls', 2), add('a', 'rows', 3)];
        await counters.add('1', adds, [raise('c', 'last', 4)], (group) => lifetimes[group] ?? 0);
        const [a, b, c] = [
          new Map([
            ['calls', 1],
            ['rows', 3],
          ]),
          new Map([['calls', 2]]),
          new Map([['last', 4]]),
        ];
        expect(await counters.read(['a', 'b', 'c'])).toEqual([a, b, c]);
        await elapse(2 * MINUTE);
        expect(await counters.read(['a', 'b', 'c'])).toEqual([a, new Map(), c]);
        await elapse(2 * MINUTE);
        expect(await counters.read(['a', 'b', 'c'])).toEqual([new Map(), new Map(), c]);
        await expect(counters.add('2', adds, [], (group) => (group === 'b' ? 0 : 1))).rejects.toThrow(
          RangeError,
        );
      }));

    it.each([0, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuse a lifetime of %d', (ttlMs) =>
      withStore(open, async ({ store: { counters } }) => {
        await expect(counters.add('1', [add('a', 'x', 1)], [], ttlMs)).rejects.toThrow(RangeError);
        expect(await counters.read(['a'])).toEqual([new Map()]);
      }),
    );

    it('count every one of many batches at once', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        await Promise.all(
          Array.from({ length: 60 }, (_, at) =>
            stores[at % 2]?.counters.add(
              `${at}`,
              [add('a', 'calls', 1), add(`b${at % 3}`, 'sum', at)],
              [raise('a', 'last', at)],
              MINUTE,
            ),
          ),
        );
        expect(await store.counters.read(['a', 'b0', 'b1', 'b2'])).toEqual([
          new Map([['calls', 60], ['last', 59]]), // biome-ignore format: one thought
          new Map([['sum', 570]]),
          new Map([['sum', 590]]),
          new Map([['sum', 610]]),
        ]);
      }));

    it('are what the batches make them, repeated or not, through two handles', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const property = fc.asyncProperty(fc.array(batch, { maxLength: 10 }), async (batches) => {
          round += 1;
          await play(stores, `${round} `, batches);
        });
        await fc.assert(property, { numRuns: 25 });
      }));
  });
}

const GROUPS = ['a', 'b', 'c'];
const row = fc.record({
  group: fc.constantFrom(...GROUPS),
  field: fc.constantFrom('x', 'y'),
  number: fc.integer({ min: -50, max: 50 }),
});
const batch = fc.record({
  handle: fc.nat({ max: 1 }),
  /** Few, so that many are repetitions. */
  id: fc.nat({ max: 5 }),
  adds: fc.array(row, { maxLength: 4 }),
  raises: fc.array(row, { maxLength: 3 }),
});

type Batch = typeof batch extends fc.Arbitrary<infer T> ? T : never;

async function play(stores: readonly Store[], prefix: string, batches: readonly Batch[]): Promise<void> {
  const model = new Map(GROUPS.map((group) => [group, new Map<string, number>()]));
  const applied = new Set<number>();
  for (const { handle, id, adds, raises } of batches) {
    await (stores[handle] as Store).counters.add(
      `${prefix}${id}`,
      adds.map(({ group, field, number }) => add(prefix + group, field, number)),
      raises.map(({ group, field, number }) => raise(prefix + group, field, number)),
      MINUTE,
    );
    // A batch of nothing is none.
    if (!applied.has(id) && adds.length + raises.length > 0) {
      applied.add(id);
      for (const { group, field, number } of adds) {
        model.get(group)?.set(field, (model.get(group)?.get(field) ?? 0) + number);
      }
      for (const { group, field, number } of raises) {
        model.get(group)?.set(field, Math.max(model.get(group)?.get(field) ?? number, number));
      }
    }
    const found = await (stores[1 - handle] as Store).counters.read(GROUPS.map((group) => prefix + group));
    expect(found).toEqual([...model.values()]);
  }
}
