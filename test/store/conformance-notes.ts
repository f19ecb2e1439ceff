import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTE_MAX_BYTES, type Store } from '../../src/store/port.js';
import { type OpenHarness, withStore } from './harness.js';

const MINUTE = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

export function describeNotes(open: OpenHarness): void {
  describe('notes', () => {
    it('are made once, and whoever comes later is shown what is there', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        expect(await store.notes.get('a')).toBeNull();
        expect(await store.notes.create('a', 'first', MINUTE)).toBeNull();
        expect(await other.notes.create('a', 'second', MINUTE)).toBe('first');
        expect(await other.notes.get('a')).toBe('first');
        expect(await other.notes.create('b', 'second', MINUTE)).toBeNull();
        expect([await store.notes.get('a'), await store.notes.get('b')]).toEqual(['first', 'second']);
      }));

    it('are replaced only where they are what the caller takes them for', () =>
      withStore(open, async ({ store: { notes } }) => {
        expect(await notes.replace('a', '', 'made of nothing', MINUTE)).toBe(false);
        expect(await notes.get('a')).toBeNull();
        await notes.create('a', 'one', MINUTE);
        expect(await notes.replace('a', 'two', 'three', MINUTE)).toBe(false);
        expect(await notes.get('a')).toBe('one');
        expect(await notes.replace('a', 'one', 'two', MINUTE)).toBe(true);
        expect(await notes.get('a')).toBe('two');
      }));

    it('are deleted by null, whatever the lifetime, and can then be made again', () =>
      withStore(open, async ({ store: { notes } }) => {
        await notes.create('a', 'one', MINUTE);
        expect(await notes.replace('a', 'two', null, 0)).toBe(false);
        expect(await notes.get('a')).toBe('one');
        expect(await notes.replace('a', 'one', null, 0)).toBe(true);
        expect(await notes.get('a')).toBeNull();
        expect(await notes.replace('a', 'one', null, 0)).toBe(false);
        expect(await notes.create('a', 'again', MINUTE)).toBeNull();
      }));

    it('end with their lifetime, which only a change that is made sets anew', () =>
      withStore(open, async ({ store: { notes }, elapse }) => {
        await notes.create('kept', 'one', 2 * MINUTE);
        await notes.create('longer', 'one', 2 * MINUTE);
        await notes.create('shorter', 'one', 9 * MINUTE);
        await notes.create('kept', 'two', 9 * MINUTE);
        await notes.replace('kept', 'two', 'three', 9 * MINUTE);
        await notes.replace('longer', 'one', 'two', 9 * MINUTE);
        await notes.replace('shorter', 'one', 'two', 2 * MINUTE);
        const all = () => Promise.all(['kept', 'longer', 'shorter'].map((key) => notes.get(key)));
        await elapse(MINUTE);
        expect(await all()).toEqual(['one', 'two', 'two']);
        await elapse(2 * MINUTE);
        expect(await all()).toEqual([null, 'two', null]);
        expect(await notes.replace('kept', 'one', 'two', MINUTE)).toBe(false);
        expect(await notes.create('kept', 'again', MINUTE)).toBeNull();
      }));

    it('hold any text, under any key', () =>
      withStore(open, async ({ store: { notes } }) => {
        const text = fc.string({ unit: 'binary' });
        const property = fc.asyncProperty(
          fc.string({ unit: 'binary' }),
          text,
          text,
          async (key, one, two) => {
            expect(await notes.create(key, one, MINUTE)).toBeNull();
            expect(await notes.get(key)).toBe(one);
            expect(await notes.replace(key, one, two, MINUTE)).toBe(true);
            expect(await notes.create(key, one, MINUTE)).toBe(two);
            expect(await notes.replace(key, two, null, MINUTE)).toBe(true);
          },
        );
        await fc.assert(property, { numRuns: 40, examples: [['', '', ''], ['../../etc', '\0', '\r\n']] }); // biome-ignore format: one thought
      }));

    it('hold 2 MiB of UTF-8 and no more', () =>
      withStore(open, async ({ store: { notes } }) => {
        const most = `${'€'.repeat(NOTE_MAX_BYTES / 3)}ab`;
        expect(Buffer.byteLength(most)).toBe(NOTE_MAX_BYTES);
        await expect(notes.create('a', `${most}c`, MINUTE)).rejects.toThrow(RangeError);
        expect(await notes.get('a')).toBeNull();
        await notes.create('a', most, MINUTE);
        await expect(notes.replace('a', most, `${most}c`, MINUTE)).rejects.toThrow(RangeError);
        expect((await notes.get('a')) === most).toBe(true);
        expect(await notes.replace('a', most, 'small', MINUTE)).toBe(true);
      }));

    it.each([0, 0.5, -1, Number.NaN, NEVER])('refuse a lifetime of %d', (ttlMs) =>
      withStore(open, async ({ store: { notes } }) => {
        await expect(notes.create('a', 'one', ttlMs)).rejects.toThrow(RangeError);
        await notes.create('a', 'one', MINUTE);
        await expect(notes.replace('a', 'one', 'two', ttlMs)).rejects.toThrow(RangeError);
        expect(await notes.get('a')).toBe('one');
      }),
    );

    it('are no part of the registry', () =>
      withStore(open, async ({ store: { notes, registry } }) => {
        const before = await registry.load();
        await notes.create('a', 'one', MINUTE);
        expect(await registry.load()).toEqual(before);
      }));

    it('are made by one of many who make them at once', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const seen = await Promise.all(
          Array.from({ length: 20 }, (_, at) => stores[at % 2]?.notes.create('a', `by ${at}`, MINUTE)),
        );
        expect(seen.filter((text) => text === null)).toHaveLength(1);
        const text = `by ${seen.indexOf(null)}`;
        expect(seen.filter((found) => found === text)).toHaveLength(19);
        expect(await store.notes.get('a')).toBe(text);
      }));

    it('lose no step of many who count in one of them at once', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        await store.notes.create('count', '0', MINUTE);
        await Promise.all(Array.from({ length: 6 }, (_, at) => countUp(stores[at % 2] as Store, 5)));
        expect(await store.notes.get('count')).toBe('30');
      }));

    it('are what the calls make them, through two handles', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          round += 1;
          await play(stores, `${round} `, steps);
        });
        await fc.assert(property, { numRuns: 40 });
      }));
  });
}

async function countUp({ notes }: Store, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    const text = (await notes.get('count')) ?? '';
    if (await notes.replace('count', text, `${Number(text) + 1}`, MINUTE)) done += 1;
  }
}

const text = fc.constantFrom('one', 'two', '');
const step = fc.record({
  handle: fc.nat({ max: 1 }),
  does: fc.constantFrom('create', 'replace'),
  key: fc.constantFrom('a', 'b'),
  before: text,
  after: fc.option(text),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(stores: readonly Store[], prefix: string, steps: readonly Step[]): Promise<void> {
  const model = new Map<string, string>();
  for (const { handle, does, key, before, after } of steps) {
    const { notes } = stores[handle] as Store;
    const there = model.get(key) ?? null;
    if (does === 'create') {
      expect(await notes.create(prefix + key, before, MINUTE)).toBe(there);
      if (there === null) model.set(key, before);
    } else {
      expect(await notes.replace(prefix + key, before, after, MINUTE)).toBe(there === before);
      if (there === before && after === null) model.delete(key);
      else if (there === before && after !== null) model.set(key, after);
    }
    const other = (stores[1 - handle] as Store).notes;
    for (const name of ['a', 'b']) expect(await other.get(prefix + name)).toBe(model.get(name) ?? null);
  }
}
