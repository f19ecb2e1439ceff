/**
 * What was seen of the days of one scope (endpoint, split, advertiser): which of them were seen at an age and again later,
 * and after which age one changed. Pure. Everything in it only grows, by union and by maximum: so replicas may add what they
 * saw in any order, and twice, and each date counts once an age.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { dayNumber } from '../query/days.js';

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
