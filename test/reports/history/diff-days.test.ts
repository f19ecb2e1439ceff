/** A diff, applied to the older rows, gives the newer ones; and says nothing of what stayed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayRows, diffDay } from '../../../src/reports/history/diff-days.js';
import { sumRows } from '../../../src/reports/history/read.js';
import { ROW_SEPARATOR } from '../../../src/reports/rows/entry.js';

const DATE = '2026-11-17';
const look = (rows: readonly Readonly<Record<string, unknown>>[], columns?: readonly string[]): DayRows => ({
  rows: rows.map((row) => new Map(Object.entries({ date: DATE, ...row }))),
  columns: columns ?? ['date', ...new Set(rows.flatMap(Object.keys))],
});
const diff = (old: DayRows, now: DayRows, isMethod = false, split = ['date', 'campaign']) =>
  diffDay(old, now, { date: DATE, split, isMethod }).map(({ dimensions, changed, kind }) => ({
    ...Object.fromEntries(dimensions),
    changed: Object.fromEntries(changed),
    kind,
  }));

describe('the diff of a day', () => {
  it('has old, new, difference and percent of each cell that changed, exactly', () => {
    const old = look([{ campaignId: 1, campaignName: 'a', spent: 0.1, clicks: 0, reach: 5 }]);
    const now = look([{ campaignId: 1, campaignName: 'a', spent: 0.3, clicks: 2, reach: 5 }]);
    expect(diff(old, now)).toEqual([
      {
        date: DATE,
        campaignId: 1,
        changed: {
          spent: { old: 0.1, new: 0.3, diff: 0.2, percent: 200 },
          clicks: { old: 0, new: 2, diff: 2, percent: null },
        },
        kind: 'changed',
      },
    ]);
  });

  it('takes a name for an attribute: a rename is a change', () => {
    const [found] = diff(
      look([{ campaignId: 1, campaignName: '10', spent: 1 }]),
      look([{ campaignId: 1, campaignName: '11', spent: 1 }]),
    );
    expect(found).toMatchObject({ kind: 'changed', changed: { campaignName: { old: '10', new: '11' } } });
    expect(found?.changed.campaignName).not.toHaveProperty('diff');
  });

  it('has all columns of a row that came or went', () => {
    const [added, removed] = diff(
      look([{ campaignId: 1, campaignName: 'a', spent: 1 }]),
      look([{ campaignId: 2, campaignName: 'b', spent: 2 }]),
    );
    expect(added).toEqual({
      date: DATE,
      campaignId: 2,
      kind: 'added',
      changed: { campaignName: { old: null, new: 'b' }, spent: { old: null, new: 2 } },
    });
    const wider = look([{ campaignId: 1, campaignName: 'a', spent: 2, viewability: 0.5 }]);
    expect(diff(look([{ campaignId: 1, campaignName: 'a', spent: 1 }]), wider, true)).toMatchObject([
      { kind: 'method', changed: { spent: { old: 1, new: 2, diff: 1, percent: 100 } } },
    ]);
    expect(removed).toEqual({
      date: DATE,
      campaignId: 1,
      kind: 'removed',
      changed: { campaignName: { old: 'a', new: null }, spent: { old: 1, new: null } },
    });
  });

  it('keeps numbers that JSON does not hold as texts, and takes equal values for equal', () => {
    const old = look([{ campaignId: '1', serial: '9007199254740993', spent: '1.50' }]);
    const now = look([{ campaignId: 1, serial: '9007199254740995', spent: 1.5 }]);
    expect(diff(old, now)).toMatchObject([
      { changed: { serial: { old: '9007199254740993', new: '9007199254740995', diff: 2, percent: 0 } } },
    ]);
    expect(diff(old, now)[0]?.changed).not.toHaveProperty('spent');
  });

  it('tells rows apart by what the report is split by, and by their texts where ids do not', () => {
    const old = look([
      { country: 'DE', clicks: 1 },
      { country: 'FR', clicks: 2 },
    ]);
    const now = look([
      { country: 'FR', clicks: 3 },
      { country: 'DE', clicks: 1 },
    ]);
    const change = { clicks: { old: 2, new: 3, diff: 1, percent: 50 } };
    expect(diff(old, now, false, ['date', 'country'])).toEqual([
      { date: DATE, country: 'FR', changed: change, kind: 'changed' },
    ]);
    expect(diff(old, now)).toEqual([{ date: DATE, changed: change, kind: 'changed' }]);
  });

  it('is empty of the same rows in another order, and leads from the old ones to the new ones', () => {
    const row = fc.record({
      campaignId: fc.nat(6),
      spent: fc.integer({ min: 0, max: 9 }),
      clicks: fc.nat(3),
    });
    const rows = fc.uniqueArray(row, { selector: ({ campaignId }) => campaignId });
    fc.assert(
      fc.property(rows, rows, (before, after) => {
        const columns = ['date', 'campaignId', 'spent', 'clicks'];
        expect(diff(look(before, columns), look(before.toReversed(), columns))).toEqual([]);
        const made = new Map(before.map((one) => [one.campaignId, { ...one } as Record<string, unknown>]));
        for (const { kind, changed, ...dimensions } of diff(look(before, columns), look(after, columns))) {
          const id = (dimensions as { campaignId?: number }).campaignId as number;
          if (kind === 'removed') made.delete(id);
          else {
            const news = Object.entries(changed).map(([column, cell]) => [column, cell.new]);
            made.set(id, { campaignId: id, ...made.get(id), ...Object.fromEntries(news) });
          }
        }
        expect([...made.values()].sort(byId)).toEqual(after.toSorted(byId));
      }),
    );
  });
});

const byId = (a: Record<string, unknown>, b: Record<string, unknown>) =>
  Number(a.campaignId) - Number(b.campaignId);

it('sums only what may be summed, and money only of one currency', async () => {
  const sum = (rows: readonly object[]) =>
    sumRows({ body: Buffer.from(rows.map((row) => JSON.stringify(row)).join(ROW_SEPARATOR)) });
  const euros = [
    { campaignId: 7, impressions: 1, spent: 0.1, reach: 9, currency: 'EUR' },
    { campaignId: 8, impressions: 2, spent: 0.2, reach: 9, currency: 'EUR' },
  ];
  expect(await sum(euros)).toEqual({ impressions: 3, spent: 0.3 });
  const dollars = { impressions: 2, spent: 0.2, currency: 'USD' };
  expect(await sum([...euros, dollars])).toEqual({ impressions: 5 });
  // In several turns.
  expect(await sum(Array.from({ length: 2500 }, () => euros[0] as object))).toEqual({
    impressions: 2500,
    spent: 250,
  });
  expect(await sum([])).toEqual({});
});
