/** Whether the halves of a range prove that the answer for all of it was cut off at a number of rows. Pure. */

import { type Entry, ROW_SEPARATOR, type RowsHeader } from './entry.js';
import { type FreshnessRules, isFinal } from './freshness.js';

type Day = Entry<RowsHeader>;

/**
 * They do when they hold more, and each day of the answer is found again in them: a cap leaves rows out, and changes
 * none. Halves that hold less, or other rows, say that the platform's numbers depend on the range.
 * @param whole the days of the suspected answer
 * @param halves the days of its halves, in the same order
 */
export function provesCap(whole: readonly Day[], halves: readonly Day[], rules: FreshnessRules): boolean {
  return (
    rowsOf(halves) > rowsOf(whole) &&
    whole.length === halves.length &&
    whole.every((day, index) => isLeftOf(day, halves[index] as Day, rules))
  );
}

export function rowsOf(days: readonly Day[]): number {
  return days.reduce((sum, { header }) => sum + header.rowCount, 0);
}

/** Whether a day may be what a cap left of another. */
function isLeftOf(day: Day, full: Day, rules: FreshnessRules): boolean {
  if (day.header.rowCount === 0 || day.header.splitFrom?.sortedHash === full.header.splitFrom?.sortedHash)
    return true;
  if (day.header.rowCount > full.header.rowCount) return false;
  // A day that may still change may have changed between the calls.
  if (![day, full].every(({ header }) => isFinal(header, rules))) return true;
  const counts = new Map<string, number>();
  for (const row of textsOf(full)) counts.set(row, (counts.get(row) ?? 0) + 1);
  return textsOf(day).every((row) => {
    const left = counts.get(row) ?? 0;
    counts.set(row, left - 1);
    return left > 0;
  });
}

/** A column's type is decided by all of a day's rows: the same number may be a text where other rows are left. */
function textsOf({ body }: Day): string[] {
  return body
    .toString()
    .split(ROW_SEPARATOR)
    .map((row) => row.replaceAll(/:"(-?\d+(?:\.\d+)?)"/g, (_, number: string) => `:${Number(number)}`));
}
