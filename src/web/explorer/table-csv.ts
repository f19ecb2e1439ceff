/** Tables as they are shown, as CSV. Pure. */
import { currencyOf, headOf, type ReportColumn, shown } from './columns.js';
import { type ComparedGroup, changeOf } from './compare.js';
import { csvOf, safe } from './join-csv.js';
import type { Marks } from './marks.js';
import { cellOf, type Report, type Row } from './parse.js';
import type { Period } from './question.js';
import type { Span } from './spans.js';

interface Table extends Pick<Report, 'rows'> {
  readonly marks: Marks;
  /** In their order. */
  readonly columns: readonly ReportColumn[];
  /** By the first day of each; empty: the rows are by day. */
  readonly spans: ReadonlyMap<string, Span>;
  /** `Week` */
  readonly by: string;
  /** Of money in rows that name none; null: unknown. */
  readonly currency: string | null;
}

/**
 * @returns RFC 4180 with a header line that has the units. Numbers are exact, with a point; texts are safe for spreadsheets.
 *   A week or month also has its first day, and how many of its days are in the report
 */
export function tableCsv({ rows, columns, marks, spans, by, currency }: Table): string {
  const money = currencyOf(rows, currency);
  const spanIn = (row: Row) => spans.get(String(row.date));
  const parts = columns.flatMap((column): Part[] => {
    if (column.name !== 'date' || spans.size === 0)
      return [[headOf(column, money), (row) => textOf(cellOf(row, column.name))]];
    return [
      [by, (row) => spanIn(row)?.title ?? textOf(row.date)],
      ['First day', (row) => textOf(row.date)],
      ['Days in the report', (row) => String(spanIn(row)?.days.length ?? '')],
    ];
  });
  const markIn = (row: Row) => marks.of(spanIn(row)?.days ?? [String(row.date)]);
  const found = new Set(rows.map(markIn));
  if (found.has('provisional')) parts.push(['Provisional', (row) => (markIn(row) === null ? '' : 'yes')]);
  else if (found.size > (found.has(null) ? 1 : 0)) parts.push(['Later', (row) => markIn(row) ?? '']);
  return csvOf([parts.map(([head]) => safe(head)), ...rows.map((row) => parts.map(([, cell]) => cell(row)))]);
}

type Part = readonly [head: string, cell: (row: Row) => string];

/** @returns the comparison: of each group and measure both values, their difference, and that in percent */
export function comparedCsv(
  groups: readonly ComparedGroup[],
  measures: readonly ReportColumn[],
  currency: string | null,
  { now, before }: Readonly<Record<'now' | 'before', Period>>,
): string {
  const daysOf = ({ from, to }: Period) => (from === to ? from : `${from} to ${to}`);
  const heads = measures.flatMap((column) => {
    const head = headOf(column, currency);
    return [
      ...[`${head} ${daysOf(now)}`, `${head} ${daysOf(before)}`],
      ...[`${head} difference`, `${column.title} difference in %`],
    ];
  });
  const cells = ({ title, changes }: ComparedGroup) => [
    safe(title || 'all'),
    ...measures.flatMap(({ name }) => {
      const { now, before, diff, percent } = changes.get(name) ?? changeOf(null, null);
      return [now, before, diff, percent].map(textOf);
    }),
  ];
  return csvOf([['Group', ...heads].map(safe), ...groups.map(cells)]);
}

const textOf = (value: unknown): string =>
  typeof value === 'number' ? String(value) : safe(shown(value, false));
