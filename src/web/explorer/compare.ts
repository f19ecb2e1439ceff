/** Compares two periods of a report by group; sums only columns that may be summed. Pure. */
import { MIXED, type ReportColumn, tidy, totalsOf } from './columns.js';
import { ofItsCurrency } from './group.js';
import { valueOver } from './measures.js';
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
  measures: readonly ReportColumn[],
): ComparedGroup[] {
  const tells = new Set([...now, ...before].map(({ currency }) => currency)).size > 1;
  const [here, there] = [groupsOf(now, split, tells), groupsOf(before, split, tells)];
  const groups = [...new Set([...here.keys(), ...there.keys()])].map((key): ComparedGroup => {
    const [one, other] = [here.get(key), there.get(key)];
    const changes = measures.map((column): [string, Change] => {
      // A group has one currency.
      const summable = column.noSum === MIXED ? { ...column, noSum: null } : column;
      return [
        column.name,
        changeOf(valueOver(one?.rows ?? [], summable), valueOver(other?.rows ?? [], summable)),
      ];
    });
    return {
      key,
      title: one?.title ?? other?.title ?? '',
      in: one === undefined ? 'before' : other === undefined ? 'now' : 'both',
      changes: Object.fromEntries(changes),
    };
  });
  const [first] = measures;
  const size = ({ changes }: ComparedGroup) =>
    changes[first?.ratio?.under ?? first?.name ?? '']?.now ?? Number.NEGATIVE_INFINITY;
  return groups.sort((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
}

/** The platform's totals of both periods, or else the sums of rows. */
export function compareTotals(now: Report, before: Report, measures: readonly ReportColumn[]): ComparedGroup {
  const isMixed = measures.some(({ noSum }) => noSum === MIXED);
  const changes = measures.map((column): [string, Change] => {
    // Amounts of different currencies, and what is calculated from them.
    if (column.noSum === MIXED || (isMixed && column.unit === 'money' && column.ratio !== null))
      return [column.name, changeOf(null, null)];
    return [column.name, changeOf(totalOf(now, column), totalOf(before, column))];
  });
  return { key: '', title: 'Total', in: 'both', changes: Object.fromEntries(changes) };
}

/** The platform's own total of a report, else that of its rows; null if there is none. */
export function totalOf({ rows, meta }: Report, column: ReportColumn): number | null {
  const totals = totalsOf(meta);
  const told = totals?.[column.name];
  if (typeof told === 'number') return told;
  const all = column.ratio === null || totals === null ? null : valueOver([totals], column);
  return all ?? (column.noSum === null ? valueOver(rows, column) : null);
}

function groupsOf(rows: readonly Row[], split: readonly string[], tellsCurrency: boolean) {
  const groups = new Map<string, { readonly title: string; readonly rows: Row[] }>();
  for (const row of rows) {
    const { key, title } = ofItsCurrency(row, split, tellsCurrency);
    const group = groups.get(key) ?? { title, rows: [] };
    groups.set(key, group);
    group.rows.push(row);
  }
  return groups;
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
  return days.map((day) => valueOver(byDay.get(day) ?? [], column));
}
