/** The text of an entry of the feed: what was written is read back, and nothing else is taken for an entry. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DayChange,
  type DaysEntry,
  decodeEntry,
  encodeEntry,
  type GrantsEntry,
} from '../../../src/reports/feed/entry.js';

const time = fc.nat(2 ** 45);
const id = fc.nat(2 ** 45).map((one) => one.toString(36));
const change: fc.Arbitrary<DayChange> = fc.record(
  {
    day: fc.integer({ min: 1, max: 31 }),
    revision: fc.option(id),
    before: fc.option(id),
    kind: fc.constantFrom('first', 'restated', 'final', 'reopened', 'void', 'erased'),
    isFinal: fc.boolean(),
    afterFinal: fc.boolean(),
    isMethod: fc.boolean(),
  },
  { noNullPrototype: true },
);
const daysEntry: fc.Arbitrary<DaysEntry> = fc.record(
  {
    type: fc.constant('days' as const),
    series: fc.stringMatching(/^[\w-]{43}$/),
    month: fc
      .tuple(fc.integer({ min: 2000, max: 2099 }), fc.integer({ min: 10, max: 12 }))
      .map((one) => one.join('-')),
    at: time,
    txid: id,
    changes: fc.array(change, { minLength: 1, maxLength: 31 }),
  },
  { noNullPrototype: true },
);
const advertisers = fc.array(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { maxLength: 5 });
const grantsEntry: fc.Arbitrary<GrantsEntry> = fc
  .record(
    {
      type: fc.constant('grants' as const),
      team: fc.stringMatching(/^[a-z0-9-]{1,40}$/),
      at: time,
      given: advertisers,
      taken: advertisers,
    },
    { noNullPrototype: true },
  )
  .filter(({ given, taken }) => given.length + taken.length > 0);

describe('an entry', () => {
  it('is read back as it was written, in one line, with the number of its changes', () => {
    fc.assert(
      fc.property(fc.oneof(daysEntry, grantsEntry), (entry) => {
        const { text, count } = encodeEntry(entry);
        expect(decodeEntry(text)).toEqual(entry);
        expect(text).toMatch(/^[\x20-\x7e]+$/);
        expect(count).toBe(
          entry.type === 'days' ? entry.changes.length : entry.given.length + entry.taken.length,
        );
      }),
    );
  });

  it('is short: 31 days take less than a kilobyte', () => {
    const changes = Array.from({ length: 31 }, (_, at): DayChange => {
      const [revision, before] = [Date.UTC(2026, 10, 24), Date.UTC(2026, 10, 23)].map((ms) =>
        ms.toString(36),
      );
      const flags = { isFinal: true, afterFinal: true, isMethod: true };
      return { day: at + 1, revision: revision ?? null, before: before ?? null, kind: 'restated', ...flags };
    });
    const at = Date.UTC(2026, 10, 24);
    const { text } = encodeEntry({
      type: 'days',
      series: 's'.repeat(43),
      month: '2026-11',
      at,
      txid: (at * 1000).toString(36),
      changes,
    });
    expect(text.length).toBeLessThan(1000);
  });

  it('of which a character is missing, or that has one more, is another entry or null', () => {
    fc.assert(
      fc.property(fc.oneof(daysEntry, grantsEntry), fc.nat(), (entry, at) => {
        const { text } = encodeEntry(entry);
        const place = at % text.length;
        for (const other of [
          text.slice(0, place) + text.slice(place + 1),
          `${text.slice(0, place)} ${text.slice(place)}`,
        ])
          expect(decodeEntry(other)).not.toEqual(entry);
      }),
    );
  });

  it.each([
    ['', 'no text'],
    ['x s 2026-11 1 1 01:a:-:i', 'another type'],
    ['d s 2026-13 1 1 01:a:-:i', 'a month that does not exist'],
    ['d s 2026-11 1 1', 'no changes'],
    ['d s 2026-11 1 1 32:a:-:i', 'a day that does not exist'],
    ['d s 2026-11 1 1 01:a:-:', 'no kind'],
    ['d s 2026-11 1 1 01:a:-:x', 'an unknown kind'],
    ['d s 2026-11 1 1 01:a:-:iX', 'an unknown flag'],
    ['d s 2026-11 1 1 01:a:-:iAF', 'flags in another order'],
    ['d s 2026-11 1 1 01:a:-:i,', 'an empty change'],
    ['d s 2026-11 1 1 01:a:-:i ', 'a space at the end'],
    ['d s 2026-11 1 1 01:a:-:i\n', 'a line break'],
    ['g t 1 9', 'an advertiser without a sign'],
    ['g t 1 +9,x', 'a text in place of an advertiser'],
  ])('"%s" is none: %s', (text) => {
    expect(decodeEntry(text)).toBeNull();
  });
});
