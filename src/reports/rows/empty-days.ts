/**
 * Days without rows at the end of an answer: an outage, a cap and "not ready yet" look like that. Such a day is
 * believed when two looks at that very day, an hour apart, say the same. What an answer says of one of its days tells
 * nothing of another.
 */

/** A second look this much later confirms an empty day. */
const CONFIRM_AFTER_MS = 3_600_000;

/** From this ISO day on, up to the next run or the last day: since when every look has found the day empty. */
export type EmptyRun = readonly [from: string, sinceMs: number];

/** What is known of the end of an answer, or of one day. */
export interface EmptyEnd {
  /** `confirmed` when of each day at the end a second look, at least an hour after the first, said the same. */
  readonly emptyTail: 'no' | 'unconfirmed' | 'confirmed';
  /** Absent where there are rows at the end; an older release did not tell the days apart, and has none. */
  readonly emptySince?: readonly EmptyRun[];
}

/** What an earlier look found. */
export interface EarlierLook extends EmptyEnd {
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  /** Last day covered; null when the platform chose the period. */
  readonly lastDay: string | null;
}

/**
 * @param days the ISO days at the end of an answer that have no rows, ascending; for an answer that is not split by
 *   date and has no rows at all, its last day stands for all of them
 * @param earlierOf the last look at a day before this one, if any
 */
export function judgeEmptyDays(
  days: readonly string[],
  fetchedAt: number,
  earlierOf: (day: string) => EarlierLook | null,
): EmptyEnd {
  if (days.length === 0) return { emptyTail: 'no' };
  const runs: EmptyRun[] = [];
  for (const day of days) {
    const sinceMs = Math.min(fetchedAt, seenEmptySince(earlierOf(day), day) ?? fetchedAt);
    if (runs.at(-1)?.[1] !== sinceMs) runs.push([day, sinceMs]);
  }
  const isConfirmed = runs.every(([, sinceMs]) => fetchedAt - sinceMs >= CONFIRM_AFTER_MS);
  return { emptyTail: isConfirmed ? 'confirmed' : 'unconfirmed', emptySince: runs };
}

/** The end of an answer that is joined from days, each with what is known of it alone. */
export function joinEmptyDays(days: readonly EarlierLook[]): EmptyEnd {
  const tail = days.slice(days.findLastIndex(({ emptyTail }) => emptyTail === 'no') + 1);
  if (tail.length === 0) return { emptyTail: 'no' };
  return {
    emptyTail: tail.every(({ emptyTail }) => emptyTail === 'confirmed') ? 'confirmed' : 'unconfirmed',
    emptySince: tail.flatMap((day): readonly EmptyRun[] => {
      if (day.emptySince !== undefined) return day.emptySince;
      return day.lastDay === null ? [] : [[day.lastDay, day.fetchedAt]];
    }),
  };
}

/** @returns since when a day has been seen empty, null when the earlier look saw rows, or not that day */
function seenEmptySince(earlier: EarlierLook | null, day: string): number | null {
  if (earlier === null || earlier.emptyTail === 'no') return null;
  const { emptySince, lastDay, fetchedAt } = earlier;
  // Without a word on its days, it is known of the last one alone that it was empty then.
  if (emptySince === undefined) return lastDay === day ? fetchedAt : null;
  if (lastDay === null || day > lastDay) return null;
  return emptySince.findLast(([from]) => from <= day)?.[1] ?? null;
}
