/**
 * Evidence about one scope (endpoint, split, advertiser), by date: ages at which a day was seen and seen again, the age after
 * which it changed, and the verdict of each refetch. Merging is by union and maximum, so replicas may add in any order and
 * repeatedly; each date counts once per age. Pure.
 */
import Type from 'typebox';
import { recordForm } from '../../lib/record.js';
import type { DayObservation } from '../days/note-fetch.js';
import type { Revision } from '../history/revision.js';
import { dayAt, dayNumber } from '../query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';
import { sortedHashOf } from '../rows/select-rows.js';

/** Greater ages count as this one. */
export const MAX_AGE = 90;
const AGES = Array.from({ length: MAX_AGE }, (_, at) => at + 1);

/** Days kept by date; of older ones only the latest change is kept. */
const KEPT_DAYS = 400;
/** Days whose verdicts are kept. */
export const VERDICT_DAYS = 200;

/**
 * Verdicts on a refetched day, best to worst.
 * - failed: the refetch failed
 * - same: equal rows
 * - differs_since: other rows, reason unknown
 * - restated: the rows were confirmed once, and then changed
 * - wrong: the served rows do not match their digest, or depended on the requested range
 */
export const VERDICTS = ['failed', 'same', 'differs_since', 'restated', 'wrong'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface DayVerdict {
  /** ISO */
  readonly date: string;
  /** Age at the refetch. */
  readonly ageDays: number;
  readonly verdict: Verdict;
}

export interface DateEvidence {
  /** Bit set of ages at which it was seen, and again later. */
  readonly again: bigint;
  /** Greatest age at which it was seen; -1: never seen again. */
  readonly until: number;
  /** Greatest age with numbers that changed later; -1: none. */
  readonly changedAfter: number;
  /** Greatest age at which a change was seen; -1: none. */
  readonly changedAt: number;
  /** Bit set of ages for each of {@link VERDICTS}; empty: never refetched. */
  readonly verdicts: readonly bigint[];
}

export interface Evidence {
  /** Start of the evidence, epoch milliseconds. */
  readonly since: number;
  /** By day number. */
  readonly dates: ReadonlyMap<number, DateEvidence>;
  /** Of dropped dates: greatest age after which one changed, and the last day on which that was seen. */
  readonly forgotten: { readonly after: number; readonly on: number };
}

/** A refetch of a known day. */
export interface Observation {
  /** ISO */
  readonly date: string;
  /** Age when the known state was first and last seen. */
  readonly ageFirst: number;
  readonly ageThen: number;
  readonly ageNow: number;
  readonly changed: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
}

const NONE: DateEvidence = { again: 0n, until: -1, changedAfter: -1, changedAt: -1, verdicts: [] };

export const NO_EVIDENCE: Evidence = {
  since: Number.MAX_SAFE_INTEGER,
  dates: new Map(),
  forgotten: { after: -1, on: -1 },
};

/** Evidence of one observation; none for a day that had not ended. */
export function evidenceOf(observed: Observation): Evidence {
  const { date, ageFirst, ageThen, ageNow, changed, at } = observed;
  if (ageThen < 1 || (!changed && ageNow <= ageThen)) return NO_EVIDENCE;
  return evidenceAbout(date, at, {
    again: bitOf(ageThen) | (ageFirst < 1 ? 0n : bitOf(ageFirst)),
    until: ageNow,
    changedAfter: changed ? Math.min(ageThen, MAX_AGE) : -1,
    changedAt: changed ? ageNow : -1,
  });
}

/** Evidence of verdicts; none for days that had not ended. @param at epoch milliseconds */
export function evidenceOfVerdicts(verdicts: readonly DayVerdict[], at: number): Evidence {
  return verdicts
    .filter(({ ageDays }) => ageDays > 0)
    .map(({ date, ageDays, verdict }) =>
      evidenceAbout(date, at, { verdicts: VERDICTS.map((one) => (one === verdict ? bitOf(ageDays) : 0n)) }),
    )
    .reduce(merge, NO_EVIDENCE);
}

function evidenceAbout(date: string, since: number, one: Partial<DateEvidence>): Evidence {
  return { ...NO_EVIDENCE, since, dates: new Map([[dayNumber(date) as number, { ...NONE, ...one }]]) };
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
  const [longer, shorter] =
    one.verdicts.length > 0 ? [one.verdicts, other.verdicts] : [other.verdicts, one.verdicts];
  return {
    again: one.again | other.again,
    until: Math.max(one.until, other.until),
    changedAfter: Math.max(one.changedAfter, other.changedAfter),
    changedAt: Math.max(one.changedAt, other.changedAt),
    verdicts: longer.map((ages, at) => ages | (shorter[at] ?? 0n)),
  };
}

/** Whether the first has all of the other's observations; verdicts aside. */
export function includes(one: Evidence, other: Evidence): boolean {
  if (other.since < one.since) return false;
  for (const [day, seen] of other.dates) {
    const known = one.dates.get(day) ?? NONE;
    if ((known.again | seen.again) !== known.again || seen.until > known.until) return false;
    if (seen.changedAfter > known.changedAfter || seen.changedAt > known.changedAt) return false;
  }
  return true;
}

/** Whether there is more than verdicts. */
export function hasObservations({ dates, forgotten }: Evidence): boolean {
  return forgotten.after >= 0 || [...dates.values()].some(({ until }) => until >= 0);
}

/** Drops dates that are too old. @param today day number */
export function forget(evidence: Evidence, today: number): Evidence {
  let { after, on } = evidence.forgotten;
  const dates = new Map<number, DateEvidence>();
  for (const [day, seen] of evidence.dates) {
    const { until, changedAfter, changedAt } = seen;
    if (day >= today - VERDICT_DAYS) dates.set(day, seen);
    else if (day >= today - KEPT_DAYS && until >= 0) dates.set(day, { ...seen, verdicts: [] });
    else if (changedAfter >= 0) {
      after = Math.max(after, changedAfter);
      on = Math.max(on, day + changedAt);
    }
  }
  return { since: evidence.since, dates, forgotten: { after, on } };
}

const HEX = Type.String({ pattern: '^[0-9a-f]+$' });
const EvidenceForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    since: Type.Integer(),
    forgotten: Type.Tuple([Type.Integer(), Type.Integer()]),
    /** Day number, ages seen again (hexadecimal), until, changed after, changed at. */
    dates: Type.Array(Type.Tuple([Type.Integer(), HEX, Type.Integer(), Type.Integer(), Type.Integer()])),
    /** Day number, and the ages of each verdict (hexadecimal). Absent in documents of older releases. */
    verdicts: Type.Optional(Type.Array(Type.Tuple([Type.Integer(), HEX, HEX, HEX, HEX, HEX]))),
  }),
);

const toHex = (ages: bigint) => ages.toString(16);
const fromHex = (text: string) => BigInt(`0x${text}`);

/** Equal for equal evidence. */
export function encodeEvidence({ since, dates, forgotten }: Evidence): string {
  const days = [...dates].sort(([a], [b]) => a - b);
  return JSON.stringify({
    form: 1,
    since,
    forgotten: [forgotten.after, forgotten.on],
    dates: days
      .filter(([, { until }]) => until >= 0)
      .map(([day, one]) => [day, toHex(one.again), one.until, one.changedAfter, one.changedAt]),
    verdicts: days
      .filter(([, { verdicts }]) => verdicts.length > 0)
      .map(([day, { verdicts }]) => [day, ...verdicts.map(toHex)]),
  });
}

/** @returns null if invalid or written by a newer release; such documents are left unchanged */
export function decodeEvidence(text: string): Evidence | null {
  const form = EvidenceForm.parse(text);
  if (form === null) return null;
  const [after, on] = form.forgotten;
  const dates = new Map<number, DateEvidence>();
  for (const [day, again, until, changedAfter, changedAt] of form.dates)
    dates.set(day, { ...NONE, again: fromHex(again), until, changedAfter, changedAt });
  for (const [day, ...ages] of form.verdicts ?? [])
    dates.set(day, { ...(dates.get(day) ?? NONE), verdicts: ages.map(fromHex) });
  return { since: form.since, dates, forgotten: { after, on } };
}

/** Distinct dates seen at an age and again later, and how many of them had changed. */
export function countAges({ dates }: Evidence) {
  const seen = [...dates.values()];
  return AGES.flatMap((ageDays) => {
    const again = seen.filter((one) => (one.again & bitOf(ageDays)) !== 0n);
    const changed = again.filter(({ changedAfter }) => changedAfter >= ageDays).length;
    return again.length === 0 ? [] : [{ ageDays, n: again.length, changed }];
  });
}

/** Distinct dates by their worst verdict at an age; n: all refetched ones, without failed ones. */
export function countVerdicts({ dates }: Evidence) {
  const judged = [...dates.values()].filter(({ verdicts }) => verdicts.length > 0);
  return AGES.flatMap((ageDays) => {
    const counts = { failed: 0, same: 0, differs_since: 0, restated: 0, wrong: 0 };
    for (const { verdicts } of judged) {
      const has = (at: number) => ((verdicts[at] ?? 0n) & bitOf(ageDays)) !== 0n;
      if (has(0)) counts.failed += 1;
      const worst = VERDICTS.findLastIndex((_verdict, at) => at > 0 && has(at));
      if (worst > 0) counts[VERDICTS[worst] as Verdict] += 1;
    }
    const n = counts.same + counts.differs_since + counts.restated + counts.wrong;
    return n + counts.failed === 0 ? [] : [{ ageDays, n, ...counts }];
  });
}

interface VerdictRules {
  readonly timezone: string;
  /** Whether the report is divisible by day; else no change is a restatement. */
  readonly isSplit: boolean;
}

/** The revision to compare with; null for a first fetch, an unconfirmed empty day, or a day of a refuted generation. */
function revisionBefore({ before, seen }: DayObservation): Revision | null {
  if (seen.unconfirmed) return null;
  const known = before.findLast((one) => one.unconfirmed !== true && one.void === undefined);
  return known === undefined || known.generation !== seen.generation ? null : known;
}

/** Different columns are no change of numbers. */
function hasOtherColumns(known: Revision, seen: DayObservation['seen']): boolean {
  return known.rowCount > 0 && seen.rowCount > 0 && known.schema !== seen.schema;
}

/** The greatest age at which the revision was seen. */
function lastSeenAge(known: Revision, date: string, timezone: string): number {
  return Math.max(known.ageDays, dayAt(known.confirmedUntil, timezone) - (dayNumber(date) as number));
}

/** For finality. @returns null if inconclusive */
export function observationOf(observed: DayObservation, timezone: string): Observation | null {
  const { date, seen } = observed;
  const known = revisionBefore(observed);
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

/** For truth. @returns null if inconclusive, e.g. the day had not ended when last seen */
export function verdictOf(observed: DayObservation, { timezone, isSplit }: VerdictRules): DayVerdict | null {
  const { date, seen } = observed;
  const known = revisionBefore(observed);
  if (known === null || lastSeenAge(known, date, timezone) < 1) return null;
  const day = { date, ageDays: seen.ageDays };
  if (known.digest === seen.digest) return { ...day, verdict: 'same' };
  const isConfirmed = known.confirmedUntil > known.knownFrom;
  const isRestated = isSplit && isConfirmed && !hasOtherColumns(known, seen);
  return { ...day, verdict: isRestated ? 'restated' : 'differs_since' };
}

/** Whether the rows of a stored day match its digest, from which `meta.revision` is derived. */
export function matchesDigest({ header, body }: Entry<RowsHeader>): boolean {
  if (header.splitFrom === null) return true;
  const texts = header.rowCount === 0 ? [] : body.toString().split(ROW_SEPARATOR);
  return sortedHashOf(texts) === header.splitFrom.sortedHash;
}
