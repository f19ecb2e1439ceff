/** Columns that a platform names as members that all objects have: they are columns like any other. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortRows } from '../../src/web/explorer/arrange.js';
import { changeIn, measuresOf, type Revisions, statesBetween } from '../../src/web/explorer/changed.js';
import { columnsOf, isConstant, type ReportColumn } from '../../src/web/explorer/columns.js';
import { compareGroups, compareTotals, spanValues } from '../../src/web/explorer/compare.js';
import { namesIn } from '../../src/web/explorer/diff-rows.js';
import { filterRows } from '../../src/web/explorer/filter.js';
import { groupRows, rowsBy } from '../../src/web/explorer/group.js';
import { valueOver, withMeasures } from '../../src/web/explorer/measures.js';
import { numbersIn } from '../../src/web/explorer/numbers.js';
import type { Meta, Row } from '../../src/web/explorer/parse.js';
import { combine } from '../../src/web/explorer/several.js';

/** A harmless name for each. */
const NAMES = new Map(
  ['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'].map(
    (name, index) => [name, `plain${index}`] as const,
  ),
);
const DAYS = ['2026-11-23', '2026-11-24', '2026-11-30'];
const SPLIT = ['date', 'constructor'];
const ALL_NAMES = [...NAMES.keys()];

/** As they come: from a text, in which every member is the row's own. */
const rowsOf = (columns: readonly (readonly [string, number][])[], isPlain: boolean): Row[] =>
  columns.map((cells, index) => {
    const named = cells.map(([name, value]) => [isPlain ? (NAMES.get(name) ?? name) : name, value]);
    const all = [['date', DAYS[index % 3]], ['clicks', index], ['impressions', 10], ...named];
    return JSON.parse(`{${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)}}`);
  });

const hostile = fc.array(
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...ALL_NAMES), fc.nat(9)), { selector: ([name]) => name })
    .map((cells) => cells as [string, number][]),
  { minLength: 1, maxLength: 6 },
);

/** As numbers that may be added up, so that each is read and added wherever one may be. */
const added = (column: ReportColumn): ReportColumn =>
  column.noSum === null ? column : { ...column, noSum: null };

/** All that the page makes of rows, without the columns' names. */
function made(rows: readonly Row[], isPlain: boolean) {
  const named = (name: string) => (isPlain ? (NAMES.get(name) ?? name) : name);
  const split = SPLIT.map(named);
  const columns = columnsOf(rows).filter(({ numeric }) => numeric);
  const summed = columns.map(added);
  const cells = (of: readonly Row[]) => of.map((row) => Object.values(row));
  const meta = { split, rowCount: rows.length, totals: rows[0] } as unknown as Meta;
  const report = { rows, meta };
  const weeks = rowsBy(rows, DAYS, 'week', split, summed);
  const ctr = { ...(columns[0] as ReportColumn), ratio: { over: 'clicks', under: 'impressions', times: 1 } };
  return {
    columns: columns.map((column) => [column.noSum === null, isConstant(column, rows)]),
    values: summed.map((column) => [
      valueOver(rows, column),
      spanValues(rows, [DAYS], column),
      groupRows(rows, DAYS, split, column, 'Acme').lines.map(({ values }) => values),
    ]),
    weeks: summed.map(({ name }) => weeks.map((row) => (Object.hasOwn(row, name) ? row[name] : 'absent'))),
    calculated: cells(withMeasures(rows, [{ ...ctr, name: named('__proto__') }])).map((row) => row.length),
    groups: compareGroups(rows, rows.slice(1), split, summed).map(({ key, title, changes }) => [
      ...[key, title],
      ...changes.values(),
    ]),
    total: [...compareTotals(report, report, summed).changes.values()],
    sorted: ALL_NAMES.map((name) => cells(sortRows(rows, `-${named(name)}`))),
    filtered: ['7', `${named('__proto__')} > 3`].map((filter) =>
      cells(filterRows(filter, { rows, columns, currency: null, numbers: numbersIn('en-US') }).rows),
    ),
    together: cells(combine([{ id: '1', name: 'Acme', report }]).rows),
  };
}

it('columns with such names are measured, grouped, compared and arranged as the same columns with others', () => {
  fc.assert(
    fc.property(hostile, (columns) => {
      expect(made(rowsOf(columns, false), false)).toEqual(made(rowsOf(columns, true), true));
    }),
  );
});

it('a row without such a column has no value in it, where others have one', () => {
  const rows = rowsOf([[['constructor', 5]], []], false);
  const column = columnsOf(rows).find(({ name }) => name === 'constructor');
  expect([column?.numeric, valueOver(rows, column as ReportColumn)]).toEqual([true, 5]);
  expect(namesIn([{ constructorId: 1 }]).size).toBe(0);
});

it('sums of a day with such names have changed only where they have', () => {
  const revision = (id: string, totals: object) => ({
    ...{ id, knownFrom: id, confirmedUntil: id, ageDays: 1 },
    totals,
  });
  const revisions = [revision('1', { clicks: 1 }), revision('2', { clicks: 1, toString: 2 })];
  const known = { data: [{ date: DAYS[0], revisions }] } as unknown as Revisions;
  const states = statesBetween(known, { from: null, to: null });
  const changes = measuresOf(states, false).map((column) => [column.name, changeIn(states, column)]);
  expect(changes).toEqual([
    ['clicks', { before: 1, now: 1, diff: 0, percent: 0 }],
    ['toString', { before: null, now: 2, diff: null, percent: null }],
  ]);
});
