/**
 * What was seen of the days of one scope (endpoint, split, advertiser): which of them were seen at an age and again later,
 * and after which age one changed. Pure. Everything in it only grows, by union and by maximum: so replicas may add what they
 * saw in any order, and twice, and each date counts once an age.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { DayObservation } from '../history/day-writes.js';
import type { Revision } from '../history/revision.js';
import { dayAt, dayNumber } from '../query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';
import { sortedHashOf } from '../rows/select-rows.js';

/** Ages beyond are taken for this one. */
const MAX_AGE = 90;

/** Days that are remembered; of older ones only how late one changed. */
const KEPT_DAYS = 400;

/** What was seen of one date. */
export interface DateEvidence {
  /** A bit for each age at which it was seen, and again later. */
  readonly again: bigint;
  /** The greatest age at which it was seen. */
  readonly until: number;
  /** The greatest age at which something was seen that was other later; -1: none. */
  readonly changedAfter: number;
  /** The greatest age at which a change was seen; -1: none. */
  readonly changedAt: number;
}

export interface Evidence {
  /** Since when anything was observed, epoch milliseconds. */
  readonly since: number;
  /** By day number. */
  readonly dates: ReadonlyMap<number, DateEvidence>;
  /** Of dates that are no longer remembered: the greatest age after which one changed, and the last day on which that was seen. */
  readonly forgotten: { readonly after: number; readonly on: number };
}

/** A day that was known, and was looked at again. */
export interface Observation {
  /** ISO */
  readonly date: string;
  /** How old it was when it was first seen so, and when it was last seen so. */
  readonly ageFirst: number;
  readonly ageThen: number;
  readonly ageNow: number;
  readonly changed: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
}

const NONE: DateEvidence = { again: 0n, until: -1, changedAfter: -1, changedAt: -1 };
const NOTHING_FORGOTTEN = { after: -1, on: -1 };

export const NO_EVIDENCE: Evidence = {
  since: Number.MAX_SAFE_INTEGER,
  dates: new Map(),
  forgotten: NOTHING_FORGOTTEN,
};

/** What one observation says; nothing of a day that was not over. */
export function evidenceOf(observed: Observation): Evidence {
  const { date, ageFirst, ageThen, ageNow, changed, at } = observed;
  if (ageThen < 1 || (!changed && ageNow <= ageThen)) return NO_EVIDENCE;
  const one: DateEvidence = {
    again: bitOf(ageThen) | (ageFirst < 1 ? 0n : bitOf(ageFirst)),
    until: ageNow,
    changedAfter: changed ? Math.min(ageThen, MAX_AGE) : -1,
    changedAt: changed ? ageNow : -1,
  };
  return { ...NO_EVIDENCE, since: at, dates: new Map([[dayNumber(date) as number, one]]) };
}

const bitOf = (age: number) => 1n << BigInt(Math.min(age, MAX_AGE));

export function merge(one: Evidence, other: Evidence): Evidence {
  const dates = new Map(one.dates);
  for (const [day, seen] of other.dates) dates.set(day, mergeDate(dates.get(day) ?? NONE, seen));
  return {
    since: Math.min(one.since, other.since),
    dates,
    forgotten: {
      after: Math.max(one.forgotten.after, other.forgotten.after),
      on: Math.max(one.forgotten.on, other.forgotten.on),
    },
  };
}

function mergeDate(one: DateEvidence, other: DateEvidence): DateEvidence {
  return {
    again: one.again | other.again,
    until: Math.max(one.until, other.until),
    changedAfter: Math.max(one.changedAfter, other.changedAfter),
    changedAt: Math.max(one.changedAt, other.changedAt),
  };
}

/** Whether the first says all that the other does. */
export function includes(one: Evidence, other: Evidence): boolean {
  if (other.since < one.since) return false;
  if (other.forgotten.after > one.forgotten.after || other.forgotten.on > one.forgotten.on) return false;
  for (const [day, seen] of other.dates) {
    const known = one.dates.get(day) ?? NONE;
    if ((known.again | seen.again) !== known.again || seen.until > known.until) return false;
    if (seen.changedAfter > known.changedAfter || seen.changedAt > known.changedAt) return false;
  }
  return true;
}

/** Without what is too long ago to be remembered by date. @param today as a day number */
export function forget(evidence: Evidence, today: number): Evidence {
  let { after, on } = evidence.forgotten;
  const dates = new Map<number, DateEvidence>();
  for (const [day, seen] of evidence.dates) {
    if (day >= today - KEPT_DAYS) dates.set(day, seen);
    else if (seen.changedAfter >= 0) {
      after = Math.max(after, seen.changedAfter);
      on = Math.max(on, day + seen.changedAt);
    }
  }
  return { since: evidence.since, dates, forgotten: { after, on } };
}

const EvidenceForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    since: Type.Integer(),
    forgotten: Type.Tuple([Type.Integer(), Type.Integer()]),
    /** Day number, ages seen again (hexadecimal), until, changed after, changed at. */
    dates: Type.Array(
      Type.Tuple([
        Type.Integer(),
        Type.String({ pattern: '^[0-9a-f]+$' }),
        Type.Integer(),
        Type.Integer(),
        Type.Integer(),
      ]),
    ),
  }),
);

/** Equal for equal evidence. */
export function encodeEvidence({ since, dates, forgotten }: Evidence): string {
  const form: RecordOf<typeof EvidenceForm> = {
    form: 1,
    since,
    forgotten: [forgotten.after, forgotten.on],
    dates: [...dates]
      .sort(([a], [b]) => a - b)
      .map(([day, { again, until, changedAfter, changedAt }]) => [
        day,
        again.toString(16),
        until,
        changedAfter,
        changedAt,
      ]),
  };
  return JSON.stringify(form);
}

/** @returns null for what is none, or was written by a later release: it is then left as it is */
export function decodeEvidence(text: string): Evidence | null {
  const form = EvidenceForm.parse(text);
  if (form === null) return null;
  const [after, on] = form.forgotten;
  const dates = new Map<number, DateEvidence>();
  for (const [day, again, until, changedAfter, changedAt] of form.dates)
    dates.set(day, { again: BigInt(`0x${again}`), until, changedAfter, changedAt });
  return { since: form.since, dates, forgotten: { after, on } };
}

/** How many distinct dates were seen at an age and again later, and of how many something was other then. */
export interface AgeCount {
  readonly ageDays: number;
  readonly n: number;
  readonly changed: number;
}

/** Of each age at which any was. */
export function countAges({ dates }: Evidence): AgeCount[] {
  const counts: AgeCount[] = [];
  for (let ageDays = 1; ageDays <= MAX_AGE; ageDays += 1) {
    const seen = [...dates.values()].filter(({ again }) => (again & bitOf(ageDays)) !== 0n);
    if (seen.length === 0) continue;
    const changed = seen.filter(({ changedAfter }) => changedAfter >= ageDays).length;
    counts.push({ ageDays, n: seen.length, changed });
  }
  return counts;
}

// What a day that is fetched again says of what was known of it before: of finality, and of truth. Pure.

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

interface LookRules {
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
