/** Groups rows by week or month, and for a chart: a line for each of the largest groups, and one for all others together. Pure. */
import { groupBy } from '../../lib/group-by.js';
import { inOneCurrency, mixesMoney, type ReportColumn, tidy, titleOf } from './columns.js';
import { valueOver } from './measures.js';
import { cellOf, type Row, rowWith } from './parse.js';
import { type SpanName, startOf } from './spans.js';

const MOST_LINES = 5;
const MOST_TITLE = 48;

/** Ids and names of a row, without its day. */
function subjectOf(row: Row, split: readonly string[]): { key: string; title: string } {
  const parts = split
    .filter((one) => one !== 'date')
    .map((one) => {
      const id = cellOf(row, `${one}Id`) ?? cellOf(row, one);
      const name = cellOf(row, `${one}Name`) ?? id;
      return { id: String(id ?? ''), name: String(name ?? '') };
    });
  return { key: parts.map(({ id }) => id).join('\u0000'), title: parts.map(({ name }) => name).join(' · ') };
}

/** The same, separated by currency. */
export function ofItsCurrency(
  row: Row,
  split: readonly string[],
  tells = true,
): { key: string; title: string } {
  const { key, title } = subjectOf(row, split);
  const currency = typeof row.currency === 'string' ? row.currency : '';
  return {
    key: `${key}\u0000${currency}`,
    title: [title, tells ? currency : ''].filter((part) => part !== '').join(' · '),
  };
}

const clipped = (title: string): string =>
  title.length > MOST_TITLE ? `${[...title].slice(0, MOST_TITLE - 1).join('')}…` : title;

/**
 * A row for each group and week or month, whose date is the first day of that.
 * @param days of the period. @param columns of the platform
 * @returns also rows of other days, unchanged. Columns that do not add up are absent
 */
export function rowsBy(
  rows: readonly Row[],
  days: readonly string[],
  by: Exclude<SpanName, 'day'>,
  split: readonly string[],
  columns: readonly ReportColumn[],
): readonly Row[] {
  const starts = new Map(days.map((day) => [day, startOf(day, by)]));
  const startIn = (row: Row) => starts.get(String(row.date));
  const groups = groupBy(
    rows.filter((row) => startIn(row) !== undefined),
    (row) => `${startIn(row)}\u0000${ofItsCurrency(row, split).key}`,
  );
  const measures = columns.filter(({ numeric }) => numeric).map(inOneCurrency);
  const together = [...groups.values()].map((of): Row => {
    // Names are those of the newest day.
    const newest = of.reduce((one, other) => (String(other.date) < String(one.date) ? one : other));
    const sums = measures.map(
      (column) => [column.name, column.noSum === null ? wholeSum(of, column) : null] as const,
    );
    return rowWith(newest, [['date', startIn(newest)], ...sums]);
  });
  together.sort((a, b) => (String(a.date) < String(b.date) ? -1 : a.date === b.date ? 0 : 1));
  return [...together, ...rows.filter((row) => startIn(row) === undefined)];
}

/** @returns null if a row lacks a value: a ratio of such sums would be of different rows */
const wholeSum = (rows: readonly Row[], column: ReportColumn): number | null =>
  rows.every((row) => typeof cellOf(row, column.name) === 'number') ? valueOver(rows, column) : null;

interface Group {
  readonly title: string;
  size: number;
  /** By place in the period. */
  readonly rows: Row[][];
}

/**
 * @param days the dates of the rows, in order; one without a row is null. Null: the rows are of the whole period, as of one
 * @param whole title of the only line of an unsplit report
 * @returns the largest first, each currency separately; by the divisor if the column is a ratio. Columns that do not add
 *   up have no line for the other groups. `left`: groups without a line; `outside`: rows of other dates
 */
export function groupRows(
  rows: readonly Row[],
  dates: readonly string[] | null,
  split: readonly string[],
  column: ReportColumn,
  whole: string,
) {
  const { name, ratio, noSum } = column;
  const mixed = mixesMoney(column, rows);
  const days = dates ?? [''];
  const places = new Map(days.map((day, index) => [day, index]));
  const groups = new Map<string, Group>();
  let outside = 0;
  for (const row of rows) {
    const place = dates === null ? 0 : places.get(String(row.date));
    if (place === undefined) outside += 1;
    const size = cellOf(row, ratio?.under ?? name);
    if (place === undefined || typeof size !== 'number') continue;
    const { key, title } = mixed ? ofItsCurrency(row, split) : subjectOf(row, split);
    const group = groups.get(key) ?? { title, size: 0, rows: days.map((): Row[] => []) };
    groups.set(key, group);
    group.rows[place]?.push(row);
    group.size += size;
  }
  const sorted = [...groups].sort(([, a], [, b]) => b.size - a.size);
  const [largest, others] = [sorted.slice(0, MOST_LINES), sorted.slice(MOST_LINES)];
  const hasRest = others.length > 0 && !mixed && noSum === null;
  const valuesOf = (of: readonly Row[][]) =>
    of.map((here) => {
      const value = valueOver(here, inOneCurrency(column));
      return value === null ? null : tidy(value);
    });
  const titles = unlike(
    largest.map(([key, { title }]) => ({ key, title })),
    whole,
  );
  const lines = largest.map(([, group], index) => ({
    title: titles[index] ?? '',
    isRest: false,
    values: valuesOf(group.rows),
  }));
  if (hasRest) {
    const rest = days.map((_, place) => others.flatMap(([, group]) => group.rows[place] ?? []));
    lines.push({ title: othersOf(others.length, split), isRest: true, values: valuesOf(rest) });
  }
  return {
    lines,
    stackable: !mixed && noSum === null && ratio === null,
    left: hasRest ? 0 : others.length,
    outside,
  };
}

/** What a gap of the chart is; null: there is none. A stack has one only where no line has a value. */
export function gapsInWords(
  { noSum, ratio }: ReportColumn,
  lines: readonly { readonly values: readonly (number | null)[] }[],
  isStacked: boolean,
  by: SpanName,
): string | null {
  const isEmpty = (place: number) => lines.every(({ values }) => values[place] === null);
  const gaps = lines.flatMap(({ values }) => values.flatMap((value, place) => (value === null ? place : [])));
  if (!gaps.some((place) => !isStacked || isEmpty(place))) return null;
  return `A gap is a ${by} without a ${noSum === null && ratio === null ? 'row' : 'value'}.`;
}

/** `12 other campaigns` */
function othersOf(count: number, split: readonly string[]): string {
  const [one = '', ...more] = split.filter((part) => part !== 'date');
  const noun = more.length > 0 || one === '' ? 'group' : titleOf(one).toLowerCase();
  if (count === 1) return `1 other ${noun}`;
  return `${count} other ${noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

/** Adds ids to equal names. */
function unlike(groups: readonly { key: string; title: string }[], whole: string): string[] {
  const titles = groups.map(({ title }) => clipped(title) || whole);
  return groups.map(({ key }, index) => {
    const title = titles[index] ?? '';
    const alike = titles.filter((other) => other === title).length > 1;
    return alike ? `${title} (${key.replaceAll('\u0000', ', ')})` : title;
  });
}
