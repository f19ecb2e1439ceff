/**
 * What the looks at one day tell: from which age it stays as it is (finality), and whether served rows were right (truth). The
 * line of the day in its month keeps what was counted of it; a look adds what is new, so each date counts once an age. Pure.
 */
import Type, { type Static } from 'typebox';
import type { Revisions, SeenDay } from '../history/revision.js';
import { dayAt, dayNumber } from '../query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';
import { sortedHashOf } from '../rows/select-rows.js';

/** Greater ages count as this one. */
export const MAX_AGE = 90;
export const AGES = Array.from({ length: MAX_AGE }, (_, at) => at + 1);

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

/** What was counted of a day, as its line keeps it. */
export const CountedForm = Type.Object({
  /** Ages at which it was seen, and again later: bits, hexadecimal. */
  again: Type.Optional(Type.String({ pattern: '^[0-9a-f]{1,23}$' })),
  /** Greatest age after which it changed. */
  changedAfter: Type.Optional(Type.Integer()),
  /** The last late change of its scope when it was counted as calm; see {@link CountRules}. */
  calm: Type.Optional(Type.Integer()),
  /** Age of its last verdict. */
  judgedAt: Type.Optional(Type.Integer()),
  /** The worst one of that age, as its place in {@link VERDICTS}. */
  worst: Type.Optional(Type.Integer({ minimum: 1, maximum: VERDICTS.length - 1 })),
  /** Age at which its last refetch failed. */
  failed: Type.Optional(Type.Integer()),
});
export type Counted = Readonly<Static<typeof CountedForm>>;

/** How the looks at days of a report are counted. */
export interface CountRules {
  readonly timezone: string;
  /** Whether the report is divisible by day; else no change is a restatement. */
  readonly isSplit: boolean;
  /** One series of a scope is counted: a date counts once. */
  readonly isCounted: boolean;
  readonly learnsFinality: boolean;
  /** The shortest window, and the longest. */
  readonly restatementDays: number;
  readonly maxDays: number;
  /** Day number of the last late change in the scope, which ends the count of dates that stayed as they were; -1: none. */
  readonly lateOn: number;
}

/** A fetched day and its earlier revisions. */
export interface DayObservation {
  /** ISO */
  readonly date: string;
  readonly before: Revisions;
  readonly seen: SeenDay;
  /** Fingerprint of the token that last saw the latest revision; undefined: unknown. */
  readonly credential: string | null | undefined;
}

/** By name of the count, e.g. `seen 3`. */
export type Counts = readonly (readonly [name: string, by: number])[];

/** What a look at a day tells. */
export interface DayNews {
  /** Day number of the look. */
  readonly on: number;
  /** Null if inconclusive, e.g. the day had not ended when last seen. */
  readonly verdict: Verdict | null;
  /** Age after which it changed; 0: it did not. */
  readonly changedAfter: number;
  /** Of finality: `seen <age>`, `changed <age>`, `calm <last late change>`. */
  readonly ages: Counts;
  /** Of truth: `<verdict> <age>`. */
  readonly verdicts: Counts;
}

/** Notes a look. @param before what was counted of the day */
export function noteLook(
  before: Counted | undefined,
  observed: DayObservation,
  rules: CountRules,
): { readonly counted: Counted | undefined; readonly news: DayNews } {
  const day = dayNumber(observed.date) as number;
  const { ageDays } = observed.seen;
  const { look, verdict } = compare(observed, day, rules);
  const changedAfter = look?.isChanged ? Math.max(0, look.ageThen) : 0;
  const news = { on: day + ageDays, verdict, changedAfter, ages: [], verdicts: [] };
  if (!rules.isCounted) return { counted: before, news };
  const { counted, verdicts } = judge(before, ageDays, verdict);
  if (look === null || !rules.learnsFinality) return { counted, news: { ...news, verdicts } };
  const after = countAges(counted, day, look, rules);
  return { counted: after.counted, news: { ...news, ages: after.ages, verdicts } };
}

/** A look at a day that can be compared with the former one. */
export interface Look {
  /** Age when the known state was first and last seen. */
  readonly ageFirst: number;
  readonly ageThen: number;
  readonly ageNow: number;
  readonly isChanged: boolean;
}

/** Compares with the last valid state. Other columns or another token are no change of numbers, and no look. */
function compare(
  { before, seen, credential }: DayObservation,
  day: number,
  { timezone, isSplit }: CountRules,
) {
  const known = before.findLast((one) => one.unconfirmed !== true && one.void === undefined);
  if (seen.unconfirmed || known === undefined || known.generation !== seen.generation)
    return { look: null, verdict: null };
  const token = known === before.at(-1) && credential !== undefined ? credential : known.credential;
  const hasOtherColumns = known.rowCount > 0 && seen.rowCount > 0 && known.schema !== seen.schema;
  const isComparable = token === seen.credential && !hasOtherColumns;
  const isChanged = known.digest !== seen.digest;
  const [ageFirst, ageNow] = [known.ageDays, seen.ageDays];
  const lastAge = Math.max(ageFirst, dayAt(known.confirmedUntil, timezone) - day);
  const isConfirmed = known.confirmedUntil > known.knownFrom;
  const isRestated = isSplit && isConfirmed && isComparable;
  const verdict: Verdict = isChanged ? (isRestated ? 'restated' : 'differs_since') : 'same';
  return {
    look: isComparable ? { ageFirst, ageThen: Math.min(ageNow, lastAge), ageNow, isChanged } : null,
    verdict: lastAge < 1 || ageNow < 1 ? null : verdict,
  };
}

const bitOf = (age: number) => 1n << BigInt(Math.min(age, MAX_AGE));
const hasBit = (ages: bigint, age: number) => ((ages >> BigInt(age)) & 1n) === 1n;

/** Counts nothing of a look before the day ended, nor of the second one of an age that saw no change. */
export function countAges(
  before: Counted | undefined,
  day: number,
  { ageFirst, ageThen, ageNow, isChanged }: Look,
  { restatementDays, maxDays, lateOn }: Pick<CountRules, 'restatementDays' | 'maxDays' | 'lateOn'>,
): { readonly counted: Counted | undefined; readonly ages: Counts } {
  if (ageThen < 1 || (!isChanged && ageNow <= ageThen)) return { counted: before, ages: [] };
  const known = before?.again === undefined ? 0n : BigInt(`0x${before.again}`);
  const again = known | bitOf(ageThen) | (ageFirst < 1 ? 0n : bitOf(ageFirst));
  const changedBefore = before?.changedAfter ?? 0;
  const changedAfter = Math.max(changedBefore, isChanged ? Math.min(ageThen, MAX_AGE) : 0);
  const ages: [string, number][] = [];
  if (again !== known || changedAfter > changedBefore)
    for (let age = 1; again >> BigInt(age) !== 0n; age += 1) {
      if (!hasBit(again, age)) continue;
      const isNew = !hasBit(known, age);
      if (isNew) ages.push([`seen ${age}`, 1]);
      if (age <= changedAfter && (isNew || age > changedBefore)) ages.push([`changed ${age}`, 1]);
    }
  const isCalm =
    ageNow >= maxDays &&
    lateOn >= 0 &&
    day + ageNow > lateOn &&
    before?.calm !== lateOn &&
    staysFrom(again, restatementDays + 1, changedAfter);
  if (isCalm) ages.push([`calm ${lateOn}`, 1]);
  const counted = {
    ...before,
    again: again.toString(16),
    ...(changedAfter > 0 && { changedAfter }),
    ...(isCalm && { calm: lateOn }),
  };
  return { counted: ages.length === 0 ? before : counted, ages };
}

/** Whether it was seen up to that age with its latest numbers. */
function staysFrom(again: bigint, age: number, changedAfter: number): boolean {
  for (let seen = age; seen > changedAfter; seen -= 1) if (hasBit(again, seen)) return true;
  return false;
}

/** Each date counts once an age, by its worst verdict; a failed refetch is none of its rows. */
export function judge(
  before: Counted | undefined,
  ageDays: number,
  verdict: Verdict | null,
): { readonly counted: Counted | undefined; readonly verdicts: Counts } {
  const age = Math.min(ageDays, MAX_AGE);
  const none = { counted: before, verdicts: [] };
  if (verdict === null || age < 1) return none;
  if (verdict === 'failed')
    return before?.failed === age
      ? none
      : { counted: { ...before, failed: age }, verdicts: [[`failed ${age}`, 1]] };
  const { judgedAt = 0, worst = 0 } = before ?? {};
  const place = VERDICTS.indexOf(verdict);
  if (age < judgedAt || (age === judgedAt && place <= worst)) return none;
  const verdicts: [string, number][] = [[`${verdict} ${age}`, 1]];
  if (age === judgedAt) verdicts.push([`${VERDICTS[worst]} ${age}`, -1]);
  return { counted: { ...before, judgedAt: age, worst: place }, verdicts };
}

/** Whether the rows of a stored day match its digest, from which `meta.revision` is derived. */
export function matchesDigest({ header, body }: Entry<RowsHeader>): boolean {
  if (header.splitFrom === null) return true;
  const texts = header.rowCount === 0 ? [] : body.toString().split(ROW_SEPARATOR);
  return sortedHashOf(texts) === header.splitFrom.sortedHash;
}
