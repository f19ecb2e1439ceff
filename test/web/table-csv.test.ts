/** The CSV of the table as it is shown: grouped, with calculated columns, exact and safe for spreadsheets. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareGroups } from '../../src/web/explorer/compare.js';
import { parseCsv } from '../../src/web/explorer/join-csv.js';
import type { Marks } from '../../src/web/explorer/marks.js';
import { allColumnsOf, withMeasures } from '../../src/web/explorer/measures.js';
import type { Row } from '../../src/web/explorer/parse.js';
import { FIRST_QUESTION } from '../../src/web/explorer/question.js';
import { csvName } from '../../src/web/explorer/save-csv.js';
import { spansOf } from '../../src/web/explorer/spans.js';
import { comparedCsv, tableCsv } from '../../src/web/explorer/table-csv.js';

const NO_MARKS: Marks = { of: () => null, words: null };

function csvOf(rows: readonly Row[], part: Partial<Parameters<typeof tableCsv>[0]> = {}): string[][] {
  const { columns } = allColumnsOf(rows);
  const table = { columns, marks: NO_MARKS, spans: new Map(), by: 'Day', currency: null, ...part };
  return parseCsv(tableCsv({ rows: withMeasures(rows, columns), ...table }));
}

it('has exact numbers with a point, units in the header, and calculated columns', () => {
  const row = { date: '2026-11-23', campaignName: 'A, "B"', impressions: 3, clicks: 1, spent: 1204.12345678 };
  expect(csvOf([row], { currency: 'EUR' })).toEqual([
    ['Date', 'Campaign name', 'Impressions', 'Clicks', 'Spent (EUR)', 'CTR (%)', 'CPC (EUR)', 'CPM (EUR)'],
    ['2026-11-23', 'A, "B"', '3', '1', '1204.12345678', '33.333333333333336', '1204.1235', '401374.5'],
  ]);
});

it('has the currency in the header only if all rows have the same, and an empty cell where there is no value', () => {
  const rows = [
    { spent: 1, currency: 'USD' },
    { spent: null, currency: 'EUR' },
  ];
  expect(csvOf(rows)).toEqual([
    ['Spent', 'Currency'],
    ['1', 'USD'],
    ['', 'EUR'],
  ]);
  expect(csvOf([{ spent: -0.5, currency: 'USD' }])).toEqual([
    ['Spent (USD)', 'Currency'],
    ['-0.5', 'USD'],
  ]);
});

it('by week has the week, its first day, and how many of its days are in the report', () => {
  const spans = spansOf({ from: '2026-11-20', to: '2026-11-24' }, 'week');
  const table = {
    spans: new Map(spans.map((span) => [span.start, span])),
    by: 'Week',
    marks: {
      ...NO_MARKS,
      of: (days) => (days.some((day) => day >= '2026-11-24') ? 'provisional' : null),
    } as Marks,
  };
  const rows = [
    { date: '2026-11-16', clicks: 3 },
    { date: '2026-11-23', clicks: 2 },
    { date: 'never', clicks: 1 },
  ];
  expect(csvOf(rows, table)).toEqual([
    ['Week', 'First day', 'Days in the report', 'Clicks', 'Provisional'],
    ['Week 47, Nov 16 – 22', '2026-11-16', '3', '3', ''],
    ['Week 48, Nov 23 – 29', '2026-11-23', '2', '2', 'yes'],
    ['never', 'never', '', '1', 'yes'],
  ]);
});

it('of an earlier time says of each day whether it changed later, if any did or may have', () => {
  const rows = [
    { date: '2026-11-20', clicks: 3 },
    { date: '2026-11-21', clicks: 2 },
  ];
  const marksOf = (of: Marks['of']) => ({ marks: { ...NO_MARKS, of } });
  expect(
    csvOf(
      rows,
      marksOf(([day]) => (day === '2026-11-20' ? 'changed later' : null)),
    ),
  ).toEqual([
    ['Date', 'Clicks', 'Later'],
    ['2026-11-20', '3', 'changed later'],
    ['2026-11-21', '2', ''],
  ]);
  expect(
    csvOf(
      rows,
      marksOf(() => 'may have changed later'),
    )[1]?.at(-1),
  ).toBe('may have changed later');
});

it('has no text that a spreadsheet takes for a formula, and numbers as they are', () => {
  const text = fc.string({ unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', 'a', '"', ',', '\n') });
  fc.assert(
    fc.property(text, text, fc.double({ noNaN: true, noDefaultInfinity: true }), (name, column, clicks) => {
      const [head = [], cells = []] = csvOf([{ [`${column}x`]: name, clicks }]);
      expect([...head, cells[0]].filter((cell) => /^[=+\-@\p{Cc}]/u.test(cell ?? ''))).toEqual([]);
      expect(cells[0]).toBe(/^[=+\-@\p{Cc}]/u.test(name) ? `'${name}` : name);
      expect(Object.is(Number(cells[1]), clicks) || Number(cells[1]) === clicks).toBe(true);
    }),
  );
});

it('is named by report, advertisers and days', () => {
  const period = { from: '2026-11-20', to: '2026-11-24' };
  expect(csvName(FIRST_QUESTION, ['1', '2'], period, 'table')).toBe(
    'campaigns_1-2_2026-11-20_2026-11-24_table.csv',
  );
  expect(csvName(FIRST_QUESTION, ['1'], null, '')).toBe('campaigns_1.csv');
});

it('of rows that are filtered has another name than that of all, and than that of another filter', () => {
  const named = (filter: string) => csvName(FIRST_QUESTION, ['1'], null, 'table', 'week', filter);
  expect(named('')).toBe('campaigns_1_table_week.csv');
  expect(named('filtered Clicks >= 1,000 "Über/50 %"')).toBe(
    'campaigns_1_table_week_filtered-Clicks-gt-eq-1-000-Über-50.csv',
  );
  expect(named('Clicks < 1')).not.toBe(named('Clicks > 1'));
});

it('of a comparison has both values of each group, their difference, and that in percent', () => {
  const rows = (clicks: number, spent: number) => [{ campaignName: '=A', clicks, spent, currency: 'USD' }];
  const { measures } = allColumnsOf(rows(1, 1));
  const own = measures.filter(({ ratio }) => ratio === null);
  const days = {
    now: { from: '2026-11-02', to: '2026-11-03' },
    before: { from: '2026-11-01', to: '2026-11-01' },
  };
  const groups = compareGroups(rows(3, 1.5), rows(2, 2), ['campaign'], own);
  expect(parseCsv(comparedCsv(groups, own, 'USD', days))).toEqual([
    [
      'Group',
      ...[
        'Clicks 2026-11-02 to 2026-11-03',
        'Clicks 2026-11-01',
        'Clicks difference',
        'Clicks difference in %',
      ],
      ...[
        'Spent (USD) 2026-11-02 to 2026-11-03',
        'Spent (USD) 2026-11-01',
        'Spent (USD) difference',
        'Spent difference in %',
      ],
    ],
    ["'=A", '3', '2', '1', '50', '1.5', '2', '-0.5', '-25'],
  ]);
  const added = compareGroups(rows(3, 1.5), [], ['campaign'], own);
  expect(parseCsv(comparedCsv(added, own, null, days))[1]).toEqual([
    "'=A",
    '3',
    '',
    '',
    '',
    '1.5',
    '',
    '',
    '',
  ]);
});
