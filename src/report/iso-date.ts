/** The date of a row: a day, or a day with a time that says nothing more than the day. */

import { dayNumber } from './days.js';

const DATE = /^(\d{4}-\d{2}-\d{2})(?: 00:00:00(?:\.0+)?|T00:00:00(?:\.0+)?(?:Z|\+00:00)?)?$/;

/**
 * @returns `YYYY-MM-DD` for a real calendar day that stands alone or with the time 00:00:00 (`2026-11-01`,
 * `2026-11-01 00:00:00.000`, `2026-11-01T00:00:00Z`), null for anything else: an hour is not for us to drop.
 */
export function isoDate(text: string): string | null {
  const day = DATE.exec(text)?.[1];
  return day === undefined || dayNumber(day) === null ? null : day;
}
