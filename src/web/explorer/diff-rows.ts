/** Rows that differ between two moments: whose they are, how many of a day, and as CSV. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { groupBy } from '../../lib/group-by.js';
import { headOf, type ReportColumn, shown, titleOf, unitOf } from './columns.js';
import { csvOf, safe } from './join-csv.js';
import { cellOf, type Row } from './parse.js';

export type Diff = AnswerTo<'GET /gateway/v1/diff'>;
export type DiffRow = Diff['data'][number];

/** By id, `campaignId 101`. */
export type Names = ReadonlyMap<string, string>;

/** The names that rows have beside ids: `campaignName` of `campaignId`. */
export function namesIn(rows: readonly Row[]): Names {
  const names = new Map<string, string>();
  for (const row of rows)
    for (const [column, value] of Object.entries(row)) {
      const name = /Id$/.test(column) ? cellOf(row, column.replace(/Id$/, 'Name')) : undefined;
      if (typeof name === 'string' && name !== '') names.set(`${column} ${String(value)}`, name);
    }
  return names;
}

/** Of the report itself, or of all rows: it is of one advertiser. */
const NO_SUBJECT = new Set(['date', 'kind', 'changed', 'advertiserId']);

/** The name leads, where the report has one of an id: `Spring (Campaign id 101)`. */
export function subjectOf(row: DiffRow, names: Names): string {
  return Object.entries(row)
    .filter(([column, value]) => !NO_SUBJECT.has(column) && value !== null && value !== '')
    .map(([column, value]) => {
      const name = names.get(`${column} ${String(value)}`);
      return { name, text: `${titleOf(column)} ${String(value)}` };
    })
    .sort((a, b) => Number(a.name === undefined) - Number(b.name === undefined))
    .map(({ name, text }) => (name === undefined ? text : `${name} (${text})`))
    .join(', ');
}

/** Whether the measure of a row differs, or what it is calculated from. */
export const isMoved = ({ changed }: DiffRow, { name, ratio }: ReportColumn): boolean =>
  (ratio === null ? [name] : [ratio.over, ratio.under]).some((part) => Object.hasOwn(changed, part));

/** How many rows of each day differ in the measure. */
export function movedByDay(rows: readonly DiffRow[], column: ReportColumn): ReadonlyMap<string, number> {
  const moved = rows.filter((row) => isMoved(row, column));
  return new Map([...groupBy(moved, ({ date }) => date)].map(([date, of]) => [date, of.length]));
}

const HEADS = ['Change', 'Column', 'Before', 'After', 'Difference', 'Difference in %'] as const;

/** @returns RFC 4180: a line for each cell that differs, with ids of its row and their names. Numbers are exact; texts are safe for spreadsheets */
export function diffCsv(rows: readonly DiffRow[], names: Names, currency: string | null): string {
  const ids = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((one) => !NO_SUBJECT.has(one));
  const nameOf = (row: Row, id: string) => names.get(`${id} ${String(cellOf(row, id))}`);
  const named = new Set(ids.filter((id) => rows.some((row) => nameOf(row, id) !== undefined)));
  const headsOf = (id: string) => [
    ...(named.has(id) ? [titleOf(id.replace(/Id$/, 'Name'))] : []),
    titleOf(id),
  ];
  const lines = rows.flatMap((row) => {
    const subject = ids.flatMap((id) => [
      ...(named.has(id) ? [nameOf(row, id) ?? ''] : []),
      cellOf(row, id) ?? '',
    ]);
    return Object.entries(row.changed).map(([column, cell]) => [
      ...[
        row.date,
        ...subject,
        KINDS[row.kind],
        headOf({ title: titleOf(column), unit: unitOf(column) }, currency),
      ],
      ...[cell.old, cell.new, cell.diff, cell.percent],
    ]);
  });
  return csvOf([
    ['Date', ...ids.flatMap(headsOf), ...HEADS].map(safe),
    ...lines.map((cells) => cells.map(textOf)),
  ]);
}

const KINDS: Readonly<Record<DiffRow['kind'], string>> = {
  changed: 'changed',
  added: 'added',
  removed: 'removed',
  method: 'fetched with another token or other columns',
};

/** A number that would not be exact comes as a text. */
const textOf = (value: unknown): string =>
  typeof value === 'number' || /^-[\d.]+$/.test(String(value)) ? String(value) : safe(shown(value, false));
