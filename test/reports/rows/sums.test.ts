/** Sums of rows, and totals that are not the sums of their rows. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownAs } from '../../../src/reports/rows/decimal.js';
import { apartFrom, joinSums, type Sums, startSums, sumsShown } from '../../../src/reports/rows/sums.js';

type Row = Readonly<Record<string, unknown>>;

function sumsOf(rows: readonly Row[]): Sums {
  const sums = startSums();
  for (const row of rows) sums.add(new Map(Object.entries(row)));
  return sums.sums();
}

const apart = (rows: readonly Row[], totals: Row) =>
  apartFrom(sumsOf(rows), sumsOf([totals])).map(({ column }) => column);
const shown = (sums: Sums) => sumsShown(sums).map(([column, sum]) => [column, shownAs(sum)]);

const COUNTS = ['impressions', 'clicks', 'conversions'] as const;
const counts = fc.record({
  impressions: fc.nat(1_000_000),
  clicks: fc.nat(10_000),
  conversions: fc.nat(100),
});
const total = (rows: readonly Readonly<Record<string, number>>[], column: string) =>
  rows.reduce((sum, row) => sum + (row[column] as number), 0);

describe('totals', () => {
  it('of counts differ in exactly the columns where they are not the sums, however the rows are split into days', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(counts, { maxLength: 5 }), { maxLength: 5 }),
        fc.record({ impressions: fc.nat(2), clicks: fc.nat(2), conversions: fc.nat(2) }),
        (days, more) => {
          const totals = Object.fromEntries(
            COUNTS.map((column) => [column, total(days.flat(), column) + more[column]]),
          );
          const found = apartFrom(joinSums(days.map(sumsOf)), sumsOf([totals]));
          expect(found.map(({ column }) => column).toSorted()).toEqual(
            COUNTS.filter((column) => more[column] > 0).toSorted(),
          );
          for (const { column, total: its, sum } of found)
            expect(shownAs(its)).toBe(Number(shownAs(sum)) + more[column as 'clicks']);
        },
      ),
    );
  });

  it('of amounts do not differ by rounding, whether rows, total or both are rounded', () => {
    const places = fc.integer({ min: 1, max: 6 });
    const amounts = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 30 });
    fc.assert(
      fc.property(amounts, places, places, (exact, ofRows, ofTotal) => {
        const rows = exact.map((amount) => ({ spent: Number(amount.toFixed(ofRows)) }));
        const sum = exact.reduce((all, amount) => all + amount, 0);
        expect(apart(rows, { spent: Number(sum.toFixed(ofTotal)) })).toEqual([]);
        // As a program adds doubles.
        expect(apart(rows, { spent: total(rows, 'spent') })).toEqual([]);
      }),
    );
  });

  it('of amounts differ by more than rounding', () => {
    const rows = [{ spent: 1.25 }, { spent: 2.5 }];
    expect(apart(rows, { spent: 3.77 })).toEqual(['spent']);
    expect(apart(rows, { spent: 3.76 })).toEqual([]);
  });

  it.each<[what: string, rows: readonly Row[], totals: Row]>([
    [
      'people, rates and unknown numbers',
      [{ reach: 5, uniqueUsers: 5, ctr: 0.5, score: 1 }],
      { reach: 9, uniqueUsers: 9, ctr: 0.7, score: 7 },
    ],
    ['a column that the totals lack', [{ clicks: 1 }], { impressions: 9 }],
    ['a column that a row lacks', [{ clicks: 1 }, { views: 1 }], { clicks: 5, views: 5 }],
    ['a column that is empty in a row', [{ clicks: 1 }, { clicks: null }], { clicks: 5 }],
    ['a column with a text', [{ clicks: 1 }, { clicks: 'many' }], { clicks: 5 }],
    ['empty totals', [{ clicks: 1 }], { clicks: null }],
    [
      'amounts of several currencies',
      [
        { spent: 1, currency: 'USD' },
        { spent: 1, currency: 'EUR' },
      ],
      { spent: 5 },
    ],
    ['amounts in another currency', [{ spent: 1, currency: 'USD' }], { spent: 5, currency: 'EUR' }],
  ])('are not compared in %s', (_what, rows, totals) => {
    expect(apart(rows, totals)).toEqual([]);
  });

  it('differ from no rows by all that they have', () => {
    expect(apart([], { clicks: 5, reach: 3, spent: 0 })).toEqual(['clicks']);
  });
});

describe('sums', () => {
  it('of parts are those of all rows', () => {
    fc.assert(
      fc.property(fc.array(fc.array(counts, { maxLength: 5 }), { minLength: 1, maxLength: 5 }), (days) => {
        expect(shown(joinSums(days.map(sumsOf)))).toEqual(shown(sumsOf(days.flat())));
      }),
    );
  });

  it('of a part with a text are none, whichever part it is', () => {
    const parts = [[{ clicks: 1 }], [{ clicks: 'many' }], [{ clicks: 2 }]].map(sumsOf);
    expect(shown(joinSums(parts))).toEqual([]);
    expect(shown(joinSums(parts.toReversed()))).toEqual([]);
  });
});
