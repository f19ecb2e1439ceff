/** Whether the halves of a range prove that the answer for the whole range was truncated at a row cap. Pure. */

import { dayNumber } from '../query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from './entry.js';
import { type FinalRules, isFinal, isFinalDay } from './freshness.js';

type Day = Entry<RowsHeader>;

/** Smaller row counts coincide often. */
export const SMALLEST_CAP = 500;

/**
 * They do if they have more rows, including all rows of the answer: a cap omits rows and changes none. Fewer or other rows mean
 * that the platform's numbers depend on the range.
 */
export function provesCap(
  whole: readonly Day[],
  halves: readonly Day[],
  { restatementDays }: FinalRules,
): boolean {
  return (
    whole.length === halves.length &&
    (rowsOf(halves) > rowsOf(whole) || finalDaysGained(whole, halves, { restatementDays })) &&
    whole.every((day, index) => isLeftOf(day, halves[index] as Day, { restatementDays }))
  );
}

/** Whether a day past restatement has more rows in the halves. */
export function finalDaysGained(
  whole: readonly Day[],
  halves: readonly Day[],
  { restatementDays }: FinalRules,
): boolean {
  return whole.some(({ header: { rowCount, lastDay, fetchedOn } }, index) => {
    const isOld = isFinalDay(dayNumber(lastDay as string) as number, fetchedOn, restatementDays);
    return isOld && (halves[index] as Day).header.rowCount > rowCount;
  });
}

/** @returns the rows of each day, if all days have equally many; else null */
export function rowsOfEachDay(days: readonly Day[]): number | null {
  const [first, ...others] = days.map(({ header }) => header.rowCount);
  return first !== undefined && others.every((rows) => rows === first) ? first : null;
}

export function rowsOf(days: readonly Day[]): number {
  return days.reduce((sum, { header }) => sum + header.rowCount, 0);
}

/** Whether a day may be a truncated `full`. */
function isLeftOf(day: Day, full: Day, rules: FinalRules): boolean {
  if (day.header.rowCount === 0 || day.header.splitFrom?.sortedHash === full.header.splitFrom?.sortedHash)
    return true;
  // Provisional days may change between the calls.
  if (![day, full].every(({ header }) => isFinal(header, rules))) return true;
  if (day.header.rowCount > full.header.rowCount) return false;
  const counts = new Map<string, number>();
  for (const row of textsOf(full)) counts.set(row, (counts.get(row) ?? 0) + 1);
  return textsOf(day).every((row) => {
    const left = counts.get(row) ?? 0;
    counts.set(row, left - 1);
    return left > 0;
  });
}

/** The type of a column depends on all rows of a day: a number may be text in the other. */
function textsOf({ body }: Day): string[] {
  return body
    .toString()
    .split(ROW_SEPARATOR)
    .map((row) => row.replaceAll(/:"(-?\d+(?:\.\d+)?)"/g, (_, number: string) => `:${Number(number)}`));
}
