/** Fetched days, and what a month shows of them, for tests. */

import { entriesAtOnce, shownDay } from '../../../src/reports/days/entries-of-days.js';
import { dayOf, type FetchedMonth, noteFetch, type OpenMonth } from '../../../src/reports/days/note-fetch.js';
import type { MonthChange } from '../../../src/reports/days/open-months.js';
import type { PartDay } from '../../../src/reports/days/part.js';
import { nameOf, type Part } from '../../../src/reports/days/part.js';
import type { MonthReport } from '../../../src/reports/history/revision.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { NOON } from '../../support/test-clock.js';
import { COUNTING, RULES, rowsEntry } from '../rows/entries.js';

export const MONTH = '2026-11';
export const REPORT: MonthReport = {
  kind: 'k',
  endpoint: 'campaigns/get',
  query: 'advertiserId=1&byDate=1',
  account: '1',
  split: ['date'],
};
const TODAY = dayNumber('2026-11-21') as number;

export const dateIn = (day: number) => `${MONTH}-${String(day).padStart(2, '0')}`;

export interface SaidDay {
  /** Of the month; the 21st is not over. */
  readonly day: number;
  /** What its rows say; 0: it has none. */
  readonly spent: number;
  /** The same rows from the last to the first. */
  readonly reversed?: boolean;
  readonly more?: Partial<RowsHeader>;
}

/** A day as the platform said it in a call that began so many milliseconds after noon. */
export function saidDay({ day, spent, reversed = false, more }: SaidDay, at: number): Entry<RowsHeader> {
  const date = dateIn(day);
  const rows = spent === 0 ? [] : [spent, 7].map((one) => ({ date, spent: one }));
  return rowsEntry(reversed ? rows.reverse() : rows, {
    lastDay: date,
    fetchStartedAt: NOON + at,
    fetchedAt: NOON + at,
    fetchedOn: TODAY,
    splitFrom: { from: date, to: date, sortedHash: `rows-${spent}`, generation: 'g' },
    ...more,
  });
}

/** Its order is when it began. */
export function fetchOf(
  at: number,
  days: readonly SaidDay[],
  more: Partial<FetchedMonth> = {},
): FetchedMonth {
  return {
    days: days.map((one) => saidDay(one, at)),
    order: at * 1000,
    clockUs: at * 1000,
    name: `p${at}`,
    credential: 'token',
    rules: RULES,
    isRecorded: true,
    asked: ['1'],
    kind: 'bounded',
    report: REPORT,
    tells: 'g',
    counting: COUNTING,
    missedOf: () => undefined,
    unreadable: new Set(),
    isErased: () => false,
    ...more,
  };
}

export const partOf = (days: readonly PartDay[]): Part =>
  new Map(days.map((one) => [nameOf(one.day, one.digest), one]));

/** @returns what a plain report shows of a day; null: nothing */
export function shownOf(
  month: OpenMonth,
  parts: ReadonlyMap<string, Part>,
  day: number,
  nowMs: number,
): Entry<RowsHeader> | null {
  const known = month.days.get(day);
  const shown = known && shownDay(month, dateIn(day), known, nowMs);
  if (!shown) return null;
  const [entry] = entriesAtOnce([{ day: dayOf(dateIn(day)), ...shown }], (name) => parts.get(name));
  return entry ?? null;
}

/** A change that a fetch makes of a month. */
export function changeOf(series: string, fetched: FetchedMonth): MonthChange {
  return {
    place: { series, month: MONTH },
    order: fetched.order,
    ttlMs: 1000,
    days: fetched.days.map(({ header }) => dayOf(header.lastDay as string)),
    apply: (month) => noteFetch(month, fetched),
  };
}
