/** The period of a report: two dates, or a relative period of `_period`, resolved against the platform's today. */
import type { FieldFault } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { didYouMean, meantName } from '../../lib/near-name.js';
import { dayNumber, isoDay } from './days.js';
import type { Place, ReadMember } from './given-parameters.js';

/** First and last day, as ISO texts, both included; null: left to the platform. */
export interface Period {
  readonly from: string | null;
  readonly to: string | null;
}

export const MAX_LAST_DAYS = 400;
/** For people. */
export const PERIOD_WORDS = `today, yesterday, last_N_days (N from 1 to ${MAX_LAST_DAYS}), month_to_date, last_month`;
const WORDS = ['today', 'yesterday', 'month_to_date', 'last_month'];

/** @param word that {@link resolvePeriod} does not know; one that is near is offered, or the longest period */
export function periodFault(word: string): FieldFault {
  const param = '_period';
  const days = Number(/^last_?(\d{1,9})_?days?$/i.exec(word)?.[1]);
  const meant = days > 0 ? `last_${Math.min(days, MAX_LAST_DAYS)}_days` : meantName(word, WORDS);
  if (meant === undefined) return mustBe(param, `one of ${PERIOD_WORDS}`);
  const message =
    days > MAX_LAST_DAYS ? `is longer than the longest, ${meant}` : `is unknown: ${didYouMean(meant)}`;
  return { param, message, help: `Send _period=${meant}.` };
}

/**
 * @param today day number, in the platform's time zone
 * @returns null for an unknown word. `last_N_days` is N whole days that end yesterday.
 */
export function resolvePeriod(word: string, today: number): Period | null {
  switch (word) {
    case 'today':
      return { from: isoDay(today), to: isoDay(today) };
    case 'yesterday':
      return { from: isoDay(today - 1), to: isoDay(today - 1) };
    case 'month_to_date':
      return { from: `${isoDay(today).slice(0, 7)}-01`, to: isoDay(today) };
    case 'last_month':
      return lastMonth(today);
    default:
      return lastDays(word, today);
  }
}

function lastMonth(today: number): Period {
  const firstOfThis = dayNumber(`${isoDay(today).slice(0, 7)}-01`) as number;
  const to = isoDay(firstOfThis - 1);
  return { from: `${to.slice(0, 7)}-01`, to };
}

function lastDays(word: string, today: number): Period | null {
  const match = /^last_([1-9][0-9]{0,2})_days$/.exec(word);
  const count = Number(match?.[1]);
  if (match === null || count > MAX_LAST_DAYS) return null;
  return { from: isoDay(today - count), to: isoDay(today - 1) };
}

/**
 * @param word of `_period`. @param today day number
 * @param place where dates are sent that the caller did not send itself
 * @param faults receives contradictions
 */
export function periodOf(
  read: readonly ReadMember[],
  word: string | null,
  today: number,
  place: Place,
  faults: FieldFault[],
): Period & { readonly places: { readonly from: Place; readonly to: Place } } {
  const resolved = word === null ? null : resolvePeriod(word, today);
  const [first, last] = ['dateFrom', 'dateTo'].map((name) => read.find(({ member }) => member.name === name));
  const [from, to] = [first?.texts[0] ?? null, last?.texts[0] ?? null];
  if (word !== null && (from !== null || to !== null)) {
    const help = 'Send either _period, or dateFrom and dateTo.';
    faults.push({
      param: '_period',
      message: 'stands instead of dateFrom and dateTo, not beside them',
      help,
    });
  } else if (from !== null && to !== null && (dayNumber(from) as number) > (dayNumber(to) as number)) {
    faults.push({
      param: 'dateTo',
      message: 'must not be before dateFrom',
      help: `Send dateTo on or after ${from}.`,
    });
  }
  if (resolved !== null) return { ...resolved, places: { from: place, to: place } };
  return { from, to, places: { from: first?.member.place ?? place, to: last?.member.place ?? place } };
}
