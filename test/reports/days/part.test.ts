/** Stored bytes of parts: rows are read back as they were, or not at all. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entriesOf, type ShownDay } from '../../../src/reports/days/entries-of-days.js';
import {
  decodePart,
  encodePart,
  nameOf,
  type PartDay,
  SMALL_PART_BYTES,
} from '../../../src/reports/days/part.js';

const names = fc.array(fc.string({ maxLength: 6 }), { maxLength: 4 });
const header: fc.Arbitrary<PartDay['header']> = fc.record(
  { columns: names, sources: names, types: names, accounts: names, rowCount: fc.nat() },
  { requiredKeys: ['columns', 'accounts', 'rowCount'], noNullPrototype: true },
);
/** Repeated, so that some days and parts are large. */
const body = fc
  .tuple(fc.string({ maxLength: 40 }), fc.constantFrom(1, 1, 1, 3000))
  .map(([text, times]) => Buffer.from(text.repeat(times)));
/** A month may have two states of one day. */
const days: fc.Arbitrary<PartDay[]> = fc.uniqueArray(
  fc.record({ day: fc.integer({ min: 1, max: 31 }), digest: fc.constantFrom('a', 'b'), header, body }),
  { selector: ({ day, digest }) => nameOf(day, digest), minLength: 1, maxLength: 6 },
);

const HEADER = {} as ShownDay['header'];

/** @returns its days, each null if its rows are damaged; null for a damaged part */
async function read(bytes: Buffer, wanted: readonly PartDay[]) {
  const part = decodePart(bytes);
  const places = wanted.map(({ day, digest }) => ({ day, digest, part: 'p', header: HEADER }));
  return part && (await entriesOf(places, () => part));
}

const isLarge = (all: readonly PartDay[]) =>
  all.reduce((sum, one) => sum + one.body.length, 0) > SMALL_PART_BYTES;

describe('a part', () => {
  it('is read back as it was written, small or large, each day with its own columns and accounts', async () => {
    await fc.assert(
      fc.asyncProperty(days, async (all) => {
        const found = await read(encodePart(all), all);
        for (const [at, one] of all.entries()) {
          const entry = found?.[at];
          expect(entry?.body.equals(one.body)).toBe(true);
          const { columns, accounts, sources, types } = one.header;
          expect(entry?.header).toMatchObject({ columns, accounts });
          expect([entry?.header.sources, entry?.header.types]).toEqual([sources, types]);
        }
      }),
    );
  });

  it('has neither a day nor a state that is not in it', async () => {
    const [one] = fc.sample(days, { numRuns: 1, seed: 3 }) as [PartDay[]];
    const other = { ...(one[0] as PartDay), digest: 'c' };
    expect(await read(encodePart(one), [other])).toEqual([null]);
  });

  it('that is cut off, or was written by another release, is null', () => {
    fc.assert(
      fc.property(days, fc.double({ min: 0, max: 1, noNaN: true }), (all, at) => {
        const bytes = encodePart(all);
        expect(decodePart(bytes.subarray(0, Math.floor(at * (bytes.length - 1))))).toBeNull();
        for (const form of [0, 3])
          expect(decodePart(Buffer.concat([Buffer.of(form), bytes.subarray(1)]))).toBeNull();
      }),
    );
  });

  it('with a changed byte is no error, and in a large one gives no other rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...([days, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 255 })] as const),
        async (all, at, flip) => {
          const bytes = encodePart(all);
          const bodies = all.reduce((sum, one) => sum + one.body.length, 0);
          const place = Math.floor(at * (bytes.length - 1));
          bytes[place] = (bytes[place] as number) ^ flip;
          const found = await read(bytes, all);
          expect(found?.length ?? all.length).toBe(all.length);
          // Small ones, and heads, are covered by the checksum of the store.
          if (!isLarge(all) || place < bytes.length - bodies) return;
          for (const [n, entry] of (found ?? []).entries())
            if (entry !== null) expect(entry.body.equals((all[n] as PartDay).body)).toBe(true);
        },
      ),
    );
  });
});
