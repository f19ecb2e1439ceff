/** Rows that are selected are those that the platform's answer for these campaigns would be kept as, or none are. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayBlock, digestAnswer } from '../../../src/reports/rows/digest.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { selectionOf, selectRows } from '../../../src/reports/rows/select-rows.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from './entries.js';

const DATE = '2026-11-01';

/** A day as it is kept of an answer with these rows. */
function keptDay(rows: readonly object[]): Entry<RowsHeader> {
  const { days } = digestAnswer(JSON.stringify(rows.map((row) => ({ date: DATE, ...row }))), {
    ...{ rule: {}, period: { from: DATE, to: DATE }, byDate: true, splits: true, whole: false },
    accountPattern: /^advertiserids?$/,
  });
  const { body, sortedHash, date, ...block } = (days as readonly [DayBlock])[0];
  const { header } = rowsEntry([], { lastDay: date });
  return {
    body,
    header: { ...header, ...block, splitFrom: { from: date, to: date, sortedHash, generation: 'g' } },
  };
}

const cell = fc.oneof(
  fc.constantFrom('12.3400', '10.1', '10.10', '7', '', 'n/a', 'Brand', '007', '9007199254740993'),
  fc.integer({ min: 0, max: 99 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.boolean(),
);
const cells = fc.record(
  {
    campaign_name: fc.constantFrom('5', '007', 'Brand', '10.10', '1e5'),
    spent: cell,
    version: cell,
    other: cell,
  },
  { requiredKeys: [] },
);

/** Ids of one type: of a platform that mixes them in a column it is not told which were numbers. */
const day = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(fc.constantFrom(1, 2, 3), cells), { maxLength: 8 }))
  .map(([isText, rows]) => rows.map(([id, rest]) => ({ campaign_id: isText ? String(id) : id, ...rest })));

it('they have the same rows and columns, and the same name, as an answer for these campaigns alone', () => {
  let told = 0;
  fc.assert(
    fc.property(day, fc.subarray(['1', '2', '3']), (rows, ids) => {
      const selected = selectRows(keptDay(rows), new Set(ids));
      if (selected === null) return;
      told += 1;
      const alone = keptDay(rows.filter(({ campaign_id }) => ids.includes(String(campaign_id))));
      expect(selected.day.body.toString()).toBe(alone.body.toString());
      const { columns, rowCount, hash, splitFrom } = selected.day.header;
      expect({ columns: [...columns].sort(), rowCount, hash, splitFrom }).toEqual({
        columns: [...alone.header.columns].sort(),
        ...{ rowCount: alone.header.rowCount, hash: alone.header.hash, splitFrom: alone.header.splitFrom },
      });
    }),
    { numRuns: 2000 },
  );
  expect(told).toBeGreaterThan(200);
});

describe('a selection is told', () => {
  it.each([
    ['a column that holds texts for the sake of a row that is left out', [{ x: '5' }, { x: 'n/a' }], false],
    ['decimals that lose zeros in a column that is no measure', [{ x: '5.10' }, { x: '5.1' }], false],
    ['decimals of a measure', [{ spent: '5.10' }, { spent: '5.1' }], true],
    ['names that look like numbers', [{ campaign_name: '5' }, { campaign_name: 'Brand' }], true],
    ['a row without a campaign', [{ x: 5 }, { campaign_id: null }], false],
  ])('of %s: %s', (_what, [one, other], isTold) => {
    const day = keptDay([
      { campaign_id: 1, ...one },
      { campaign_id: 2, ...other },
    ]);
    expect(selectRows(day, new Set(['1'])) !== null).toBe(isTold);
  });

  it('for a period, by date and campaign, of campaigns that are named, and for nothing else', () => {
    const query = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    const selection = selectionOf(get(`${query}&campaignIds[]=7&campaignIds[]=5`).report);
    expect([...(selection?.ids ?? [])].sort()).toEqual(['5', '7']);
    expect(selection?.of.members).toEqual(get(query).report.members);
    for (const other of [
      query,
      `${query.replace('&byCampaign=1', '')}&campaignIds[]=7`,
      `${query.replace('&byDate=1', '')}&campaignIds[]=7`,
      'advertiserId=1&byDate=1&byCampaign=1&campaignIds[]=7',
    ])
      expect(selectionOf(get(other).report)).toBeNull();
  });
});
