/** `_asOf`: the moment whose knowledge is asked for. */
import { dayNumber } from './days.js';

/** RFC 3339, section 5.6: a full date and time with its offset. */
const INSTANT = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

export interface AsOfRules {
  readonly nowMs: number;
  /** The platform's today for the report's account, as a day number. */
  readonly today: number;
  /** When a day begins for that account, epoch milliseconds. */
  readonly startOfDay: (day: number) => number;
}

export type AsOf = { readonly atMs: number } | { readonly fault: string };

/** @param text an instant, or a day that is over: its end, in the zone of the account */
export function readAsOf(text: string, { nowMs, today, startOfDay }: AsOfRules): AsOf {
  const day = dayNumber(text);
  if (day !== null)
    return day < today
      ? { atMs: startOfDay(day + 1) - 1 }
      : { fault: 'is a day that is not over: give one that is, or an instant, as 2026-11-03T08:00:00Z' };
  const atMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    return {
      fault:
        'must be an instant with its offset, as 2026-11-03T08:00:00Z, or a day that is over, as 2026-11-03',
    };
  return atMs > nowMs
    ? { fault: `lies in the future: it is ${new Date(nowMs).toISOString()} now` }
    : { atMs };
}
