/** What a day that is fetched again says of what was known of it before: of finality, and of truth. Pure. */
import type { DayObservation } from '../history/day-writes.js';
import type { Revision } from '../history/revision.js';
import { dayAt, dayNumber } from '../query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';
import { sortedHashOf } from '../rows/select-rows.js';
import type { Observation } from './evidence.js';

/**
 * From the mildest to the worst.
 * - failed: it was to be fetched again, and could not be
 * - same: the same rows as before
 * - differs_since: other rows, and no more can be said
 * - restated: what was known had been seen again after it was first seen, and then changed
 * - wrong: what was served is not what it said it was, or depended on the range that it was cut from
 */
export const VERDICTS = ['failed', 'same', 'differs_since', 'restated', 'wrong'] as const;
export type TruthVerdict = (typeof VERDICTS)[number];

/** One day, and what came of fetching it again. */
export interface Look {
  /** ISO */
  readonly date: string;
  /** How old the day was when it was fetched again. */
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
 * The revision that a day is held against.
 * @returns null where there is none: it is the first look, an empty day that no second look has confirmed, or a day that was split
 *   under a proof that was refuted since
 */
function revisionBefore({ before, seen }: DayObservation): Revision | null {
  if (seen.unconfirmed) return null;
  const known = before.findLast((one) => one.unconfirmed !== true && one.void === undefined);
  return known === undefined || known.generation !== seen.generation ? null : known;
}

/** With other columns the platform has changed no number. */
function hasOtherColumns(known: Revision, seen: DayObservation['seen']): boolean {
  return known.rowCount > 0 && seen.rowCount > 0 && known.schema !== seen.schema;
}

/** The greatest age at which the day was seen so. */
function lastSeenAge(known: Revision, date: string, timezone: string): number {
  return Math.max(known.ageDays, dayAt(known.confirmedUntil, timezone) - (dayNumber(date) as number));
}

/**
 * What a look says of finality.
 * @param timezone of the account
 * @returns null where it tells nothing
 */
export function observationOf(sight: DayObservation, timezone: string): Observation | null {
  const { date, seen } = sight;
  const known = revisionBefore(sight);
  if (known === null || hasOtherColumns(known, seen)) return null;
  return {
    date,
    ageFirst: known.ageDays,
    ageThen: Math.min(seen.ageDays, lastSeenAge(known, date, timezone)),
    ageNow: seen.ageDays,
    changed: known.digest !== seen.digest,
    at: seen.fetchedAt,
  };
}

/** What a look says of truth. @returns null where it tells nothing; a day that was not over when it was last seen tells nothing too */
export function lookOf(sight: DayObservation, { timezone, isSplit }: LookRules): Look | null {
  const { date, seen } = sight;
  const known = revisionBefore(sight);
  if (known === null || lastSeenAge(known, date, timezone) < 1) return null;
  const look = { date, ageDays: seen.ageDays };
  if (known.digest === seen.digest) return { ...look, verdict: 'same' };
  const isConfirmed = known.confirmedUntil > known.knownFrom;
  const isRestated = isSplit && isConfirmed && !hasOtherColumns(known, seen);
  return { ...look, verdict: isRestated ? 'restated' : 'differs_since' };
}

/** Whether the rows of a kept day are those that it is named by, and that `meta.revision` of an answer is made of. */
export function isWhatItSays({ header, body }: Entry<RowsHeader>): boolean {
  if (header.splitFrom === null) return true;
  const texts = header.rowCount === 0 ? [] : body.toString().split(ROW_SEPARATOR);
  return sortedHashOf(texts) === header.splitFrom.sortedHash;
}
