/**
 * Probation: ranges of different lengths and ends are answered as a whole while the join of their days is compared
 * with them. Pure: which ranges count, which one to try next, and which further calls make its join whole.
 */
import Type, { type Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import type { DayRange } from '../cache/plan.js';
import { dayNumber } from '../query/days.js';

/** A range that was tried; its final days only. */
export const TrialRecord = Type.Object({
  /** ISO days, both compared. */
  from: Type.String(),
  to: Type.String(),
  /** How many days, all of them compared. */
  days: Type.Number(),
});
export type Trial = Frozen<Static<typeof TrialRecord>>;

export const NEEDED_TRIALS = 5;
/** One trial at least is so long. */
export const LONG_TRIAL_DAYS = 14;
/** A range with fewer days that have rows proves nothing; a shorter range needs rows on all of its days. */
export const TRIAL_DAYS_WITH_ROWS = 3;

/** Whether it tells more than those before: another length, another end, and a long one when only that is missing. */
export function isNewTrial(before: readonly Trial[], { days, to }: Trial): boolean {
  if (before.some((trial) => trial.days === days || trial.to === to)) return false;
  return before.length < NEEDED_TRIALS || days >= LONG_TRIAL_DAYS;
}

export function isProbationOver(trials: readonly Trial[]): boolean {
  return trials.length >= NEEDED_TRIALS && trials.some(({ days }) => days >= LONG_TRIAL_DAYS);
}

/**
 * The range to try when a range was answered: itself where it counts. Dashboards ask for the same lengths day by day,
 * and would never bring a kind through; so a range that does not count is shifted and stretched into the past.
 * @param answered its final days
 */
export function rangeToTry(before: readonly Trial[], answered: DayRange): DayRange {
  const ends = new Set(before.map(({ to }) => dayNumber(to)));
  const lengths = new Set(before.map(({ days }) => days));
  const isLongMissing =
    before.length >= NEEDED_TRIALS - 1 && !before.some(({ days }) => days >= LONG_TRIAL_DAYS);
  let { to } = answered;
  while (ends.has(to)) to -= 1;
  let days = Math.max(to - answered.from + 1, isLongMissing ? LONG_TRIAL_DAYS : 1);
  while (lengths.has(days)) days += 1;
  return { from: to - days + 1, to };
}

/**
 * What to ask for so that the join of a tried range is whole: never the range itself. When every day is known there
 * is one call all the same, from the middle of it, for what joins are made of are calls that end there.
 * @param missing days of the range that nothing comparable is known of, ascending
 */
export function piecesToTry({ from, to }: DayRange, missing: readonly number[]): DayRange[] {
  const days = to - from + 1;
  if (days < 3) return [{ from: from - 1, to: to + 1 }];
  const [first, last] = [missing[0], missing.at(-1)];
  if (first === undefined || last === undefined) {
    const third = Math.floor(days / 3);
    return [{ from: from + third, to: to - third }];
  }
  if (first > from || last < to) return [{ from: first, to: last }];
  const middle = from + Math.floor(days / 2) - 1;
  return [
    { from, to: middle },
    { from: middle + 1, to },
  ];
}

/**
 * The range that is asked for when two answers disagree on days: it holds them all, and begins and ends where
 * none of the answers does, nor on a day in dispute.
 * @param ends of the answers that disagree
 * @param today the platform may refuse days to come
 * @returns null when there is no such range
 */
export function independentRange(
  disputed: readonly number[],
  ends: { readonly from: ReadonlySet<number>; readonly to: ReadonlySet<number> },
  today: number,
): DayRange | null {
  let from = Math.min(...disputed) - 1;
  let to = Math.max(...disputed) + 1;
  while (ends.from.has(from)) from -= 1;
  while (ends.to.has(to)) to += 1;
  return to > today ? null : { from, to };
}
