/** What a day that is asked for again says of what was known of it before. Pure. */
import type { Sight } from '../history/day-writes.js';
import { dayAt, dayNumber } from '../report/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../report/entry.js';
import { sortedHashOf } from '../report/select-rows.js';

/**
 * From the mildest to the worst.
 * - failed: it was to be asked for again, and could not be
 * - same: the same rows as before
 * - differs_since: other rows, and no more can be said
 * - restated: what was known had been seen again after it was first seen, and then changed
 * - wrong: what was served is not what it said it was, or depended on the range that it was cut from
 */
export const VERDICTS = ['failed', 'same', 'differs_since', 'restated', 'wrong'] as const;
export type TruthVerdict = (typeof VERDICTS)[number];

/** One day, and what came of asking for it again. */
export interface Look {
  /** ISO */
  readonly date: string;
  /** How old the day was when it was asked for again. */
  readonly ageDays: number;
  readonly verdict: TruthVerdict;
}

export interface LookRules {
  /** Of the account. */
  readonly timezone: string;
  /** Whether a day of the report says the same whatever range it is cut from: else no change of it is a restatement. */
  readonly isSplit: boolean;
}

/**
 * @returns null where the look tells nothing: the first one; a day that was not over when it was last seen; an empty day that no
 *   second look has confirmed; and what was split under a proof that was refuted since
 */
export function lookOf({ date, before, seen }: Sight, { timezone, isSplit }: LookRules): Look | null {
  if (seen.unconfirmed) return null;
  const known = before.findLast((one) => one.unconfirmed !== true && one.void === undefined);
  if (known === undefined || known.generation !== seen.generation) return null;
  const lastSeenAge = dayAt(known.confirmedUntil, timezone) - (dayNumber(date) as number);
  if (Math.max(known.ageDays, lastSeenAge) < 1) return null;
  const look = { date, ageDays: seen.ageDays };
  if (known.digest === seen.digest) return { ...look, verdict: 'same' };
  const isMethod = known.rowCount > 0 && seen.rowCount > 0 && known.schema !== seen.schema;
  const isConfirmed = known.confirmedUntil > known.knownFrom;
  return { ...look, verdict: isSplit && isConfirmed && !isMethod ? 'restated' : 'differs_since' };
}

/** Whether the rows of a kept day are those that it is named by, and that `meta.revision` of an answer is made of. */
export function isWhatItSays({ header, body }: Entry<RowsHeader>): boolean {
  if (header.splitFrom === null) return true;
  const texts = header.rowCount === 0 ? [] : body.toString().split(ROW_SEPARATOR);
  return sortedHashOf(texts) === header.splitFrom.sortedHash;
}
