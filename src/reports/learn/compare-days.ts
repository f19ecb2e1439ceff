/** Compares the days of a new answer with those of earlier answers. */
import { groupBy } from '../../lib/group-by.js';
import { dayNumber, isoDay } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { Entry, RowsHeader, SplitFrom } from '../rows/entry.js';
import { type FreshnessRules, isFinal } from '../rows/freshness.js';
import { independentRange } from './state.js';

/** Days by date. */
export type Days = ReadonlyMap<string, Entry<RowsHeader>>;

export function daysByDate(entries: readonly Entry<RowsHeader>[]): Days {
  return new Map(entries.map((entry) => [entry.header.lastDay as string, entry]));
}

interface DaysInput extends Pick<DaysOf, 'known'> {
  readonly fresh: readonly Entry<RowsHeader>[];
  /** Current version of what is learned about reports of this kind; days of another one are ignored. */
  readonly generation: string;
  readonly rules: FreshnessRules;
}

/** A final day in two answers. */
export interface DayPair {
  readonly date: string;
  readonly older: Entry<RowsHeader>;
  readonly newer: Entry<RowsHeader>;
}

export function compareDays({ fresh, known, generation, rules }: DaysInput) {
  /** With different rows. */
  const disputes: DayPair[] = [];
  /** With equal rows in answers for different periods; only days with rows. */
  const agreed: DayPair[] = [];
  for (const newer of fresh) {
    const date = newer.header.lastDay as string;
    const older = known.get(date);
    if (older === undefined || ![older, newer].every((entry) => isComparable(entry, generation, rules)))
      continue;
    const [a, b] = [splitFromOf(older), splitFromOf(newer)];
    if (a.sortedHash !== b.sortedHash) disputes.push({ date, older, newer });
    else if (newer.header.rowCount > 0 && (a.from !== b.from || a.to !== b.to))
      agreed.push({ date, older, newer });
  }
  return { disputes, agreed };
}

/** Only final days can be compared: others may differ legitimately. A purged day is not trusted. */
export function isComparable(
  { header }: Entry<RowsHeader>,
  generation: string,
  rules: FreshnessRules,
): boolean {
  if ((header.forgotten ?? header.expiredAtMs) !== undefined) return false;
  return header.splitFrom?.generation === generation && isFinal(header, rules);
}

/** Of a day that {@link isComparable}. */
export function splitFromOf({ header }: Entry<RowsHeader>): SplitFrom {
  return header.splitFrom as SplitFrom;
}

export interface DaysOf extends ReportSeries {
  /** Known days, to confirm empty ones. */
  readonly known: Days;
}

// Two answers disagree on final days: did the platform restate them, or do its numbers depend on the requested range? A third
// range with other ends than both must agree with the newer answer. The older range, fetched again, must agree too: a difference
// caused by the range would persist.

/** @returns the current days of a range; null if unknown */
export type FetchRange = (from: string, to: string) => Promise<Days | null>;

/** open: the platform did not answer, or there is no such range */
type Verdict = 'restated' | 'dependent' | 'open';

/** Limit of older ranges that are fetched again. */
const ASKED_AGAIN = 3;

export async function settleDisputes(disputes: readonly DayPair[], fetch: FetchRange): Promise<Verdict> {
  const range = independentOf(disputes);
  if (range === null) return 'open';
  const independent = confirms(await fetch(isoDay(range.from), isoDay(range.to)), disputes);
  if (independent !== 'restated') return independent;
  for (const [period, about] of olderPeriods(disputes)) {
    const [from, to] = period.split('/') as [string, string];
    const again = confirms(await fetch(from, to), about);
    if (again !== 'restated') return again;
  }
  return 'restated';
}

/** Whether these days agree with the newer answers. */
function confirms(days: Days | null, disputes: readonly DayPair[]): Verdict {
  if (days === null) return 'open';
  for (const { date, newer } of disputes) {
    const day = days.get(date)?.header.splitFrom ?? null;
    if (day === null || day.generation !== splitFromOf(newer).generation) return 'open';
    if (day.sortedHash !== splitFromOf(newer).sortedHash) return 'dependent';
  }
  return 'restated';
}

/** The range to fetch about days of two answers; see {@link independentRange}. */
function independentOf(pairs: readonly DayPair[]): ReturnType<typeof independentRange> {
  const cuts = pairs.flatMap(({ older, newer }) => [splitFromOf(older), splitFromOf(newer)]);
  const numbers = (dates: readonly string[]) => dates.map((date) => dayNumber(date) as number);
  return independentRange(
    numbers(pairs.map(({ date }) => date)),
    { from: new Set(numbers(cuts.map(({ from }) => from))), to: new Set(numbers(cuts.map(({ to }) => to))) },
    Math.max(...pairs.map(({ newer }) => newer.header.fetchedOn)),
  );
}

/** Ranges of the older answers, those with most disputes first; without ranges that the newer answer repeats. */
function olderPeriods(disputes: readonly DayPair[]): [period: string, about: readonly DayPair[]][] {
  const periodOf = (entry: Entry<RowsHeader>) => `${splitFromOf(entry).from}/${splitFromOf(entry).to}`;
  const moved = disputes.filter(({ older, newer }) => periodOf(older) !== periodOf(newer));
  return [...groupBy(moved, ({ older }) => periodOf(older))]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, ASKED_AGAIN);
}
