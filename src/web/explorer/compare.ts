/** Compares two periods of a report by group; sums only columns that may be summed. Pure. */
import { groupBy } from '../../lib/group-by.js';
import { haveCurrencies, inOneCurrency, mixesMoney, type ReportColumn, tidy, totalsOf } from './columns.js';
import { ofItsCurrency } from './group.js';
import { valueOver } from './measures.js';
import { cellOf, type Report, type Row } from './parse.js';

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
  readonly changes: ReadonlyMap<string, Change>;
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
  const tells = haveCurrencies([...now, ...before]);
  const keyOf = (row: Row) => ofItsCurrency(row, split).key;
  const [here, there] = [groupBy(now, keyOf), groupBy(before, keyOf)];
  const groups = [...new Set([...here.keys(), ...there.keys()])].map((key): ComparedGroup => {
    const [one, other] = [here.get(key), there.get(key)];
    const changes = measures.map((column): [string, Change] => {
      // A group has one currency.
      const summable = inOneCurrency(column);
      return [column.name, changeOf(valueOver(one ?? [], summable), valueOver(other ?? [], summable))];
    });
    return {
      key,
      title: ofItsCurrency((one ?? other)?.[0] ?? {}, split, tells).title,
      in: one === undefined ? 'before' : other === undefined ? 'now' : 'both',
      changes: new Map(changes),
    };
  });
  const [first] = measures;
  const size = ({ changes }: ComparedGroup) =>
    changes.get(first?.ratio?.under ?? first?.name ?? '')?.now ?? Number.NEGATIVE_INFINITY;
  return groups.sort((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
}

/** The platform's totals of both periods, or else the sums of rows. */
export function compareTotals(now: Report, before: Report, measures: readonly ReportColumn[]): ComparedGroup {
  const rows = [...now.rows, ...before.rows];
  const changes = measures.map((column): [string, Change] => {
    const totalIn = (report: Report) => (mixesMoney(column, rows) ? null : totalOf(report, column));
    return [column.name, changeOf(totalIn(now), totalIn(before))];
  });
  return { key: '', title: 'Total', in: 'both', changes: new Map(changes) };
}

/**
 * What adds up, divided by the days of each period, which differ in length.
 * @param total of both periods. @param days of each
 */
export function meanPerDay(
  total: ComparedGroup,
  measures: readonly ReportColumn[],
  days: Readonly<Record<'now' | 'before', number>>,
): ComparedGroup {
  const meanIn = (change: Change | undefined, period: 'now' | 'before') => {
    const sum = change?.[period] ?? null;
    return sum === null ? null : rounded(sum / days[period]);
  };
  const changes = measures.flatMap(({ name, ratio, noSum }): [string, Change][] => {
    if (ratio !== null || noSum !== null) return [];
    const change = total.changes.get(name);
    return [[name, changeOf(meanIn(change, 'now'), meanIn(change, 'before'))]];
  });
  return { key: 'mean', title: 'Mean per day', in: 'both', changes: new Map(changes) };
}

const rounded = (mean: number): number => (Math.abs(mean) < 1 ? tidy(mean) : Math.round(mean * 100) / 100);

/** The platform's own total of a report, else that of its rows; null if there is none, or amounts have different currencies. */
export function totalOf({ rows, meta }: Report, column: ReportColumn): number | null {
  if (mixesMoney(column, rows)) return null;
  const totals = totalsOf(meta);
  const told = totals === null ? null : cellOf(totals, column.name);
  if (typeof told === 'number') return told;
  const all = column.ratio === null || totals === null ? null : valueOver([totals], column);
  // The only row is the total, of people too.
  return all ?? (column.noSum === null || rows.length === 1 ? valueOver(rows, column) : null);
}

/**
 * @param spans the days of each. @param column of both periods together
 * @returns one value per span; null: no row, or no sum
 */
export function spanValues(
  rows: readonly Row[],
  spans: readonly (readonly string[])[],
  column: ReportColumn,
): (number | null)[] {
  const byDay = groupBy(rows, ({ date }) => String(date));
  return spans.map((days) => {
    // One row of a week is no value of the week.
    if (days.length > 1 && column.noSum !== null) return null;
    return valueOver(
      days.flatMap((day) => byDay.get(day) ?? []),
      column,
    );
  });
}
