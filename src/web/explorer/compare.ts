/** Compares two periods of a report by group; sums only columns that may be summed. Pure. */
import { MIXED, type ReportColumn, sumOf, tidy, totalsOf, whyNoSum } from './columns.js';
import { ofItsCurrency } from './group.js';
import type { Report, Row } from './parse.js';

export interface Change {
  /** Null: no row, or no sum. */
  readonly now: number | null;
  readonly before: number | null;
  /** Null if either is null. */
  readonly diff: number | null;
  /** Of `before`; null if that is 0. */
  readonly percent: number | null;
}

export interface ComparedGroup {
  readonly key: string;
  readonly title: string;
  /** The periods with rows of the group. */
  readonly in: 'both' | 'now' | 'before';
  /** By column. */
  readonly changes: Readonly<Record<string, Change>>;
}

export function changeOf(now: number | null, before: number | null): Change {
  if (now === null || before === null) return { now, before, diff: null, percent: null };
  const diff = tidy(now - before);
  return { now, before, diff, percent: before === 0 ? null : (diff / Math.abs(before)) * 100 };
}

/** @returns sorted by the first measure, descending. Each currency is a group of its own */
export function compareGroups(
  now: readonly Row[],
  before: readonly Row[],
  split: readonly string[],
  measures: readonly string[],
): ComparedGroup[] {
  const [here, there] = [groupsOf(now, split), groupsOf(before, split)];
  const groups = [...new Set([...here.keys(), ...there.keys()])].map((key): ComparedGroup => {
    const [one, other] = [here.get(key), there.get(key)];
    const changes = measures.map((name): [string, Change] => [
      name,
      changeOf(summed(one?.rows ?? [], name), summed(other?.rows ?? [], name)),
    ]);
    return {
      key,
      title: one?.title ?? other?.title ?? '',
      in: one === undefined ? 'before' : other === undefined ? 'now' : 'both',
      changes: Object.fromEntries(changes),
    };
  });
  const [first = ''] = measures;
  const size = ({ changes }: ComparedGroup) => changes[first]?.now ?? Number.NEGATIVE_INFINITY;
  return groups.sort((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
}

/** The platform's totals of both periods, or else the sums of rows. */
export function compareTotals(now: Report, before: Report, measures: readonly ReportColumn[]): ComparedGroup {
  const changes = measures.map((column): [string, Change] => [
    column.name,
    changeOf(totalOf(now, column), totalOf(before, column)),
  ]);
  return { key: '', title: 'Total', in: 'both', changes: Object.fromEntries(changes) };
}

/** @param column of both periods together: with different currencies, totals cannot be compared */
function totalOf({ rows, meta }: Report, { name, noSum }: ReportColumn): number | null {
  const told = totalsOf(meta)?.[name];
  if (noSum === MIXED) return null;
  if (typeof told === 'number') return told;
  return noSum === null && rows.length > 0 ? sumOf(rows, name) : null;
}

function groupsOf(rows: readonly Row[], split: readonly string[]) {
  const groups = new Map<string, { readonly title: string; readonly rows: Row[] }>();
  for (const row of rows) {
    const { key, title } = ofItsCurrency(row, split);
    const group = groups.get(key) ?? { title, rows: [] };
    groups.set(key, group);
    group.rows.push(row);
  }
  return groups;
}

/** The sum, or the only value of a column that may not be summed. @param rows of one currency */
function summed(rows: readonly Row[], name: string): number | null {
  const values = rows.map((row) => row[name]).filter((value) => typeof value === 'number');
  if (values.length === 0 || (rows.length > 1 && whyNoSum(name) !== null)) return null;
  return tidy(values.reduce((sum, value) => sum + value, 0));
}

/** @param column of both periods together. @returns one value per day; null: no row, or no sum */
export function dayValues(
  rows: readonly Row[],
  days: readonly string[],
  column: ReportColumn,
): (number | null)[] {
  const byDay = new Map<string, Row[]>();
  for (const row of rows) {
    const day = String(row.date);
    byDay.set(day, [...(byDay.get(day) ?? []), row]);
  }
  return days.map((day) => {
    const here = byDay.get(day) ?? [];
    return here.length > 1 && column.noSum !== null ? null : summed(here, column.name);
  });
}
