import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DOCUMENT_MAX_BYTES, type Store } from '../../src/store/port.js';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, withStore } from './harness.js';

const NEVER = Number.POSITIVE_INFINITY;

export function describeDocuments(open: OpenHarness): void {
  describe('documents', () => {
    it('end with their lifetime, which only a change that is made sets anew', () =>
      withStore(open, async ({ store: { documents }, elapse }) => {
        await documents.create('kept', 'one', 2 * MINUTE);
        await documents.create('longer', 'one', 2 * MINUTE);
        await documents.create('shorter', 'one', 9 * MINUTE);
        await documents.create('kept', 'two', 9 * MINUTE);
        await documents.replace('kept', 'two', 'three', 9 * MINUTE);
        await documents.replace('longer', 'one', 'two', 9 * MINUTE);
        await documents.replace('shorter', 'one', 'two', 2 * MINUTE);
        const all = () => Promise.all(['kept', 'longer', 'shorter'].map((key) => documents.get(key)));
        await elapse(MINUTE);
        expect(await all()).toEqual(['one', 'two', 'two']);
        await elapse(2 * MINUTE);
        expect(await all()).toEqual([null, 'two', null]);
        expect(await documents.replace('kept', 'one', 'two', MINUTE)).toBe(false);
        expect(await documents.create('kept', 'again', MINUTE)).toBeNull();
      }));

    it('hold any text, under any key', () =>
      withStore(open, async ({ store: { documents } }) => {
        const text = fc.string({ unit: 'binary' });
        const property = fc.asyncProperty(
          fc.string({ unit: 'binary' }),
          text,
          text,
          async (key, one, two) => {
            expect(await documents.create(key, one, MINUTE)).toBeNull();
            expect(await documents.get(key)).toBe(one);
            expect(await documents.replace(key, one, two, MINUTE)).toBe(true);
            expect(await documents.create(key, one, MINUTE)).toBe(two);
            expect(await documents.replace(key, two, null, MINUTE)).toBe(true);
          },
        );
        await fc.assert(property, { numRuns: 25, examples: [['', '', ''], ['../../etc', '\0', '\r\n']] }); // biome-ignore format: one thought
      }));

    it('hold 2 MiB of UTF-8 and no more', () =>
      withStore(open, async ({ store: { documents } }) => {
        const most = `${'€'.repeat(DOCUMENT_MAX_BYTES / 3)}ab`;
        expect(Buffer.byteLength(most)).toBe(DOCUMENT_MAX_BYTES);
        await expect(documents.create('a', `${most}c`, MINUTE)).rejects.toThrow(RangeError);
        expect(await documents.get('a')).toBeNull();
        await documents.create('a', most, MINUTE);
        await expect(documents.replace('a', most, `${most}c`, MINUTE)).rejects.toThrow(RangeError);
        expect((await documents.get('a')) === most).toBe(true);
        expect(await documents.replace('a', most, 'small', MINUTE)).toBe(true);
      }));

    it.each([0, 0.5, -1, Number.NaN, NEVER])('refuse a lifetime of %d', (ttlMs) =>
      withStore(open, async ({ store: { documents } }) => {
        await expect(documents.create('a', 'one', ttlMs)).rejects.toThrow(RangeError);
        await documents.create('a', 'one', MINUTE);
        await expect(documents.replace('a', 'one', 'two', ttlMs)).rejects.toThrow(RangeError);
        expect(await documents.get('a')).toBe('one');
      }),
    );

    it('are made by one of many who make them at once', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const seen = await Promise.all(
          Array.from({ length: 20 }, (_, at) => stores[at % 2]?.documents.create('a', `by ${at}`, MINUTE)),
        );
        expect(seen.filter((text) => text === null)).toHaveLength(1);
        const text = `by ${seen.indexOf(null)}`;
        expect(seen.filter((found) => found === text)).toHaveLength(19);
        expect(await store.documents.get('a')).toBe(text);
      }));

    it('are what the calls make them, through two handles', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          round += 1;
          await play(stores, `${round} `, steps);
        });
        await fc.assert(property, { numRuns: 25 });
      }));
  });
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
    const { documents } = stores[handle] as Store;
    const there = model.get(key) ?? null;
    if (does === 'create') {
      expect(await documents.create(prefix + key, before, MINUTE)).toBe(there);
      if (there === null) model.set(key, before);
    } else {
      expect(await documents.replace(prefix + key, before, after, MINUTE)).toBe(there === before);
      if (there === before && after === null) model.delete(key);
      else if (there === before && after !== null) model.set(key, after);
    }
    const other = (stores[1 - handle] as Store).documents;
    for (const name of ['a', 'b']) expect(await other.get(prefix + name)).toBe(model.get(name) ?? null);
  }
}
