/** The relative periods of `_period`, resolved against the platform's today. */
import { isoDay } from './days.js';

export interface Period {
  readonly from: string;
  readonly to: string;
}

/** A period as it is asked for: an open end is left to the platform. */
export interface Range {
  readonly from: string | null;
  readonly to: string | null;
}

export const PERIOD_WORDS = 'today, yesterday, last_N_days (N from 1 to 400), month_to_date, last_month';
const MAX_LAST_DAYS = 400;

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
  const firstOfThis = new Date(`${isoDay(today).slice(0, 7)}-01T00:00:00Z`).getTime() / 86_400_000;
  const to = isoDay(firstOfThis - 1);
  return { from: `${to.slice(0, 7)}-01`, to };
}

function lastDays(word: string, today: number): Period | null {
  const match = /^last_([1-9][0-9]{0,2})_days$/.exec(word);
  const count = Number(match?.[1]);
  if (match === null || count > MAX_LAST_DAYS) return null;
  return { from: isoDay(today - count), to: isoDay(today - 1) };
}
