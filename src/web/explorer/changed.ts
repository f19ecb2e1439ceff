/** What changed of the days of a report from their recorded revisions, one by one and together. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { sortedBy } from '../ui/sort.js';
import type { ReportColumn } from './columns.js';
import { type Change, changeOf } from './compare.js';
import { allColumnsOf, valueOver } from './measures.js';
import type { Row } from './parse.js';
import { dayAfter, instantOf, type Period, runsOf } from './question.js';

export type Revisions = AnswerTo<'GET /gateway/v1/revisions'>;
type Day = Revisions['data'][number];
type Revision = Day['revisions'][number];

/** The sums of a day as a row of one; null: they are no longer kept. */
type Sums = Row | null;

interface Pair {
  readonly before: Sums;
  readonly now: Sums;
}

/** Other numbers of a day than before. */
export interface Step extends Pair {
  /** Of the revision. */
  readonly id: string;
  /** When it was first seen, ISO. */
  readonly seenAt: string;
  /** When the numbers before were last fetched, ISO: it was made after that. Null: not known. */
  readonly after: string | null;
  /** Whether columns or token were others: the platform may not have changed all of it. */
  readonly hasOtherSettings: boolean;
}

export interface DayStates extends Pair {
  readonly date: string;
  /** When both were first known, ISO. */
  readonly from: string;
  readonly to: string;
  /** Whether it was first fetched after the first moment; its change is that since then. */
  readonly isLater: boolean;
  /** Whether numbers between it and the first moment are not kept. */
  readonly isInexact: boolean;
  /** When its last numbers were last fetched, to the hour, ISO. */
  readonly confirmedUntil: string;
  /** Whether it is over: before that its numbers grow. */
  readonly isOver: boolean;
  /** When its numbers were last read before the first moment, ISO: its change may be as old. Null: the change was made later. */
  readonly lastRead: string | null;
  /** From the one to the other, newest first; none: it has not changed. */
  readonly steps: readonly Step[];
}

/** Whether a state of some day is recorded that is valid. */
export const isKnown = ({ data }: Pick<Revisions, 'data'>): boolean =>
  data.some((day) => validOf(day).length > 0);

// The moments of the address.

/** Of the address: `from` is `yesterday`, `week`, a time, the id of a pin or empty; `to` a time or empty. */
export function momentsOf(place: string): { readonly from: string; readonly to: string } {
  const [from = '', to = ''] = place.split(',');
  return { from: from === 'first' ? '' : from, to: to === 'latest' ? '' : to };
}

/** Choices of the first moment, and their titles. */
export const NAMED = [
  ['', 'first fetched'],
  ['yesterday', 'yesterday'],
  ['week', '7 days ago'],
] as const;
const DAYS_AGO: Readonly<Record<string, number>> = { yesterday: 1, week: 7 };

/** Whether the moments of the address are among the choices. */
export const isNamed = (place: string): boolean => {
  const { from, to } = momentsOf(place);
  return to === '' && NAMED.some(([name]) => name === from);
};

/** `yesterday` and `week` as the UTC midnight that they begin at; others as they are. */
export function instantFrom(from: string, nowMs: number): string {
  const ago = DAYS_AGO[from];
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return ago === undefined ? instantOf(from) : `${dayAfter(today, -ago)}T00:00:00Z`;
}

/** A moment of the address that is neither a time nor a name is the id of a pin. */
export const pinIn = (from: string): string | null =>
  /^(yesterday|week|\d{4}-\d\d-\d\dT.*|)$/.test(from) ? null : from;

/** Milliseconds. `from` null: when each day was first known; `to` null: now. */
export interface Moments {
  readonly from: number | null;
  readonly to: number | null;
}

/** A day's revisions that were right, oldest first. */
export const validOf = ({ revisions }: Day): Revision[] =>
  revisions.filter(({ void: why }) => why === undefined);

const knownAt = ({ knownFrom }: Revision): number => Date.parse(knownFrom);

/** Whether the numbers were seen after the end of the day: before that they grow, which is no change. */
const isAfterEnd = (date: string, { ageDays, confirmedUntil }: Revision): boolean =>
  ageDays > 0 || confirmedUntil.slice(0, 10) > date;

/**
 * What is known of each day at both moments, newest day first. The first is when a day was first fetched after its end, if it
 * was not known before; days that were not known at all are left out.
 */
export function statesBetween({ data }: Pick<Revisions, 'data'>, { from, to }: Moments): DayStates[] {
  const states = data.flatMap((day): DayStates[] => {
    const { date } = day;
    const valid = validOf(day).filter((one) => to === null || knownAt(one) <= to);
    const last = valid.at(-1);
    if (last === undefined) return [];
    const then = from === null ? -1 : valid.findLastIndex((one) => knownAt(one) <= from);
    const closed = valid.findIndex((one) => isAfterEnd(date, one));
    const known = valid.slice(then >= 0 ? then : closed >= 0 ? closed : -1);
    const first = known[0] ?? last;
    // A void revision was never right: its successor is compared with the one before it.
    const steps = known
      .slice(1)
      .map((now, index) => stepOf(known[index] ?? first, now))
      .reverse();
    const lastRead = steps.at(-1)?.after ?? null;
    return [
      {
        date,
        before: sumsIn(first),
        now: sumsIn(last),
        from: first.knownFrom,
        to: last.knownFrom,
        confirmedUntil: last.confirmedUntil,
        isLater: from !== null && then < 0,
        isInexact:
          from !== null && [first.thinnedFrom, first.missedFrom].some((gap = '') => Date.parse(gap) <= from),
        isOver: isAfterEnd(date, last),
        lastRead: from !== null && lastRead !== null && Date.parse(lastRead) < from ? lastRead : null,
        steps,
      },
    ];
  });
  return sortedBy(states, ({ date }) => date, true);
}

function stepOf(before: Revision, now: Revision): Step {
  const seenAt = now.knownFrom;
  // The hour of the last fetch may have begun before the first one.
  const [last = ''] = [before.knownFrom, before.confirmedUntil].sort().reverse();
  return {
    id: now.id,
    before: sumsIn(before),
    now: sumsIn(now),
    seenAt,
    after: last < seenAt ? last : null,
    hasOtherSettings: now.kind === 'method',
  };
}

/** Numbers that would not be exact come as texts. */
const sumsIn = ({ totals }: Revision): Sums =>
  totals === null
    ? null
    : (Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, Number(value)])) as Row);

/** Those that the sums have, and that the page calculates from them. @param isMixed whether money has several currencies, which do not add up */
export function measuresOf(states: readonly DayStates[], isMixed: boolean): ReportColumn[] {
  const rows = states.flatMap(({ before, now }) => [before, now]).filter((row) => row !== null);
  return allColumnsOf(rows).measures.filter(({ unit }) => !(isMixed && unit === 'money'));
}

/** The one of this name, else money that was spent, else the first. */
export const chosenOf = (measures: readonly ReportColumn[], name: string): ReportColumn | undefined =>
  measures.find((one) => one.name === name) ?? measures.find(({ unit }) => unit === 'money') ?? measures[0];

/** Of a measure, over days whose numbers are kept, or over one. */
export function changeIn(pairs: readonly Pair[], column: ReportColumn): Change {
  const kept = pairs.flatMap(({ before, now }) => (before === null || now === null ? [] : { before, now }));
  const over = (side: keyof Pair) =>
    valueOver(
      kept.map((pair) => pair[side]),
      column,
    );
  return changeOf(over('now'), over('before'));
}

/** Whether it can be compared row by row. */
export const isComparable = ({ isOver }: DayStates): boolean => isOver;

/** Days that follow each other and can be compared row by row, with one at least that changed; earliest first. @param later those first fetched after the first moment, else the others */
export function comparedRuns(all: readonly DayStates[], later = false): Period[] {
  const states = all.filter(({ isLater }) => isLater === later);
  const changed = states.filter(({ steps }) => steps.length > 0).map(({ date }) => date);
  const days = states.filter(isComparable).map(({ date }) => date);
  return runsOf(days.reverse()).filter(({ from, to }) => changed.some((date) => from <= date && date <= to));
}

/** When the first and the last of the days that are known were first fetched, ISO; null: none is known. */
export function knownSince({ data }: Pick<Revisions, 'data'>): [first: string, last: string] | null {
  const all = data.flatMap((day) => validOf(day)[0]?.knownFrom ?? []).sort();
  const [first, last] = [all[0], all.at(-1)];
  return first === undefined || last === undefined ? null : [first, last];
}
