/** Two periods of one report beside each other, group by group. What does not add up is not added. Pure. */
import { MIXED, type ReportColumn, sumOf, tidy, totalsOf, whyNoSum } from './columns.js';
import { ofItsCurrency } from './group.js';
import type { Report, Row } from './parse.js';
import { dayAfter, daysOf, type Period } from './question.js';

export interface Change {
  /** null: there is no row, or its rows have no sum. */
  readonly now: number | null;
  readonly before: number | null;
  /** null where either is. */
  readonly diff: number | null;
  /** Of the value before; null from 0. */
  readonly percent: number | null;
}

export interface ComparedGroup {
  readonly key: string;
  readonly title: string;
  /** Where the group has rows. */
  readonly in: 'both' | 'now' | 'before';
  /** By the names of columns. */
  readonly changes: Readonly<Record<string, Change>>;
}

/** What a report may be compared with, and the title of each. */
export const AGAINST = [
  ['', 'nothing'],
  ['previous', 'the days before'],
  ['year', 'a year before'],
] as const;

/** @returns as many days right before, or the same days a year before; null for any other word */
export function periodAgainst(against: string, now: Period): Period | null {
  const days = daysOf(now).length;
  if (against === 'previous') return { from: dayAfter(now.from, -days), to: dayAfter(now.from, -1) };
  return against === 'year' ? { from: yearBefore(now.from), to: yearBefore(now.to) } : null;
}

/** Of the 29th of February it is the 28th. */
function yearBefore(day: string): string {
  const year = String(Number(day.slice(0, 4)) - 1).padStart(4, '0');
  return day.endsWith('02-29') ? `${year}-02-28` : `${year}${day.slice(4)}`;
}

export function changeOf(now: number | null, before: number | null): Change {
  if (now === null || before === null) return { now, before, diff: null, percent: null };
  const diff = tidy(now - before);
  return { now, before, diff, percent: before === 0 ? null : (diff / Math.abs(before)) * 100 };
}

/** @returns in the order of the first measure, the largest first. Rows of different currencies are different groups */
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

/** All groups of either period in one: the platform's own total, else the sum of rows that have one. */
export function compareTotals(now: Report, before: Report, measures: readonly ReportColumn[]): ComparedGroup {
  const changes = measures.map((column): [string, Change] => [
    column.name,
    changeOf(totalOf(now, column), totalOf(before, column)),
  ]);
  return { key: '', title: 'Total', in: 'both', changes: Object.fromEntries(changes) };
}

/** @param column of the rows of both periods: where they differ in currency, neither total can be held against the other */
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

/** The sum of what adds up; of anything else the one value that there is. @param rows of one currency */
function summed(rows: readonly Row[], name: string): number | null {
  const values = rows.map((row) => row[name]).filter((value) => typeof value === 'number');
  if (values.length === 0 || (rows.length > 1 && whyNoSum(name) !== null)) return null;
  return tidy(values.reduce((sum, value) => sum + value, 0));
}

/** @param column of the rows of both periods. @returns a value a day; null: no row, or rows that have no sum */
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
