/**
 * Whether reports of a kind (equal except for dates and accounts) may be split by day: learned from overlapping answers, never
 * assumed. Splits would be wrong if the numbers of a day depend on the requested range (attribution windows, sampling, caps,
 * campaigns listed only with delivery). Agreements may be chance. So a kind is on probation after them: whole answers are served,
 * and compared with the joins of their days, until ranges of different lengths and ends were equal. Pure.
 */
import Type, { type Static } from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../../lib/record.js';
import type { DayRange } from '../cache/plan.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import { digest } from '../query/platform-call.js';

/** A compared range of final days: a trial of the probation. */
const TrialRecord = Type.Object({
  /** ISO days. */
  from: Type.String(),
  to: Type.String(),
  days: Type.Number(),
});
export type Trial = Frozen<Static<typeof TrialRecord>>;

export const NEEDED_TRIALS = 5;
/** Minimum length of at least one trial. */
export const LONG_TRIAL_DAYS = 14;
/** Days with rows that a trial needs; a shorter range needs rows on all days. */
export const TRIAL_DAYS_WITH_ROWS = 3;

/** Whether length and end differ from those before, and the length is long if only that is missing. */
export function isNewTrial(before: readonly Trial[], { days, to }: Trial): boolean {
  if (before.some((trial) => trial.days === days || trial.to === to)) return false;
  return before.length < NEEDED_TRIALS || days >= LONG_TRIAL_DAYS;
}

export function isProbationOver(trials: readonly Trial[]): boolean {
  return trials.length >= NEEDED_TRIALS && trials.some(({ days }) => days >= LONG_TRIAL_DAYS);
}

/**
 * The range to try next: the answered one, if it is new. Else it is shifted and extended into the past, because dashboards
 * request the same lengths every day, which would never end a probation.
 * @param answered final days of an answer
 */
export function rangeToTry(before: readonly Trial[], answered: DayRange): DayRange {
  const ends = new Set(before.map(({ to }) => dayNumber(to)));
  const lengths = new Set(before.map(({ days }) => days));
  const isLongMissing =
    before.length >= NEEDED_TRIALS - 1 && !before.some(({ days }) => days >= LONG_TRIAL_DAYS);
  let { to } = answered;
  while (ends.has(to)) to -= 1;
  let days = Math.max(to - answered.from + 1, isLongMissing ? LONG_TRIAL_DAYS : 1);
  while (lengths.has(days)) days += 1;
  return { from: to - days + 1, to };
}

/**
 * Ranges to fetch so that the join of a tried range is complete: never the range itself. If all days are known, one call from
 * its middle is made, because joins consist of calls that end inside the range.
 * @param missing days of the range without a comparable entry, ascending
 */
export function piecesToTry({ from, to }: DayRange, missing: readonly number[]): DayRange[] {
  const days = to - from + 1;
  if (days < 3) return [{ from: from - 1, to: to + 1 }];
  const [first, last] = [missing[0], missing.at(-1)];
  if (first === undefined || last === undefined) {
    const third = Math.floor(days / 3);
    return [{ from: from + third, to: to - third }];
  }
  if (first > from || last < to) return [{ from: first, to: last }];
  const middle = from + Math.floor(days / 2) - 1;
  return [
    { from, to: middle },
    { from: middle + 1, to },
  ];
}

/**
 * The range to fetch if two answers disagree on days: it contains them, and begins and ends neither where the answers do, nor on a
 * disputed day.
 * @param ends of the answers
 * @param today the platform may refuse later days
 * @returns null if there is none
 */
export function independentRange(
  disputed: readonly number[],
  ends: { readonly from: ReadonlySet<number>; readonly to: ReadonlySet<number> },
  today: number,
): DayRange | null {
  let from = Math.min(...disputed) - 1;
  let to = Math.max(...disputed) + 1;
  while (ends.from.has(from)) from -= 1;
  while (ends.to.has(to)) to += 1;
  return to > today ? null : { from, to };
}

/** A final day with equal rows in two answers with different ends. */
const AgreementRecord = Type.Object({
  date: Type.String(),
  /** See {@link pairId}. */
  pair: Type.String(),
});
export type Agreement = Frozen<Static<typeof AgreementRecord>>;

export type DivisibilityState = 'learning' | 'probation' | 'proven' | 'refuted';

const timeOrNull = Type.Union([Type.Number(), Type.Null()]);

/** A registry record. Optional members are absent in records of older releases. Times are epoch milliseconds. */
export const Divisibility = recordForm(
  Type.Object({
    /** As written; see {@link currentState}. A state of another release proves nothing. */
    state: Type.Unsafe<DivisibilityState>(Type.String()),
    /** Version of the result: days split under another one are invalid. */
    generation: Type.String(),
    /** While learning, those that the proof needs. */
    agreements: Type.Array(AgreementRecord),
    /** Passed ones. */
    trials: Type.Optional(Type.Array(TrialRecord)),
    /** The generation that passed probation. Older releases prove without it, which is not trusted. */
    triedGeneration: Type.Optional(Type.String()),
    provenAt: timeOrNull,
    refutedUntil: timeOrNull,
    /** Until then reports are fetched as a whole, because an answer could not be split. */
    wholeUntil: Type.Optional(Type.Number()),
    /** Common properties of these reports, for people. */
    about: Type.Optional(
      Type.Object({
        endpoint: Type.String(),
        split: Type.Array(Type.String()),
        spentBased: Type.Union([Type.String(), Type.Null()]),
        /** Names of parameters. */
        passedOn: Type.Array(Type.String()),
      }),
    ),
    /** Number of final days that changed, and the greatest age at which one did. */
    restatements: Type.Number(),
    oldestRestatementDays: Type.Number(),
  }),
);
export type Divisibility = RecordOf<typeof Divisibility>;

export const NEEDED_DAYS = 3;
export const NEEDED_PAIRS = 2;
export const REFUTED_MS = 86_400_000;
export const WHOLE_MS = 86_400_000;

export function startLearning(generation: string): Divisibility {
  return {
    state: 'learning',
    generation,
    agreements: [],
    provenAt: null,
    refutedUntil: null,
    restatements: 0,
    oldestRestatementDays: 0,
  };
}

/** A refutation ends after a day; a proof without probation is not accepted. */
export function currentState(known: Divisibility, nowMs: number): DivisibilityState {
  if (known.state === 'refuted') return nowMs >= (known.refutedUntil ?? 0) ? 'learning' : 'refuted';
  return known.state === 'proven' && !isProven(known) ? 'probation' : known.state;
}

export function isProven({ state, triedGeneration, generation }: Divisibility): boolean {
  return state === 'proven' && triedGeneration === generation;
}

/** @returns the same value if there is nothing new */
export function agree(known: Divisibility, news: readonly Agreement[], nowMs: number): Divisibility {
  if (currentState(known, nowMs) !== 'learning') return known;
  const agreements = addAgreements(known.agreements, news);
  if (agreements.length === known.agreements.length && known.state !== 'refuted') return known;
  const days = new Set(agreements.map(({ date }) => date)).size;
  const pairs = new Set(agreements.map(({ pair }) => pair)).size;
  const enough = days >= NEEDED_DAYS && pairs >= NEEDED_PAIRS;
  return {
    ...known,
    state: enough ? 'probation' : 'learning',
    agreements: enough ? [] : agreements,
    trials: [],
    provenAt: null,
    refutedUntil: null,
  };
}

/** A whole answer equals its join. @returns the same value if not on probation, or if the trial is not new */
export function passTrial(known: Divisibility, trial: Trial, nowMs: number): Divisibility {
  const before = known.trials ?? [];
  if (currentState(known, nowMs) !== 'probation' || !isNewTrial(before, trial)) return known;
  const trials = [...before, trial];
  if (!isProbationOver(trials)) return { ...known, state: 'probation', trials };
  return { ...known, state: 'proven', trials, triedGeneration: known.generation, provenAt: nowMs };
}

/** An answer could not be split: reports are fetched as a whole for a day. */
export function askAsWhole(known: Divisibility, nowMs: number): Divisibility {
  return { ...known, wholeUntil: nowMs + WHOLE_MS };
}

/** @returns null if reports need not be fetched as a whole */
export function wholeUntil(known: Divisibility | null, nowMs: number): number | null {
  const until = known?.wholeUntil ?? 0;
  // A clock set back must not prolong it.
  return until > nowMs && until <= nowMs + WHOLE_MS ? until : null;
}

/** Keeps only what the proof still needs, so that the record stays short. */
function addAgreements(before: readonly Agreement[], news: readonly Agreement[]): Agreement[] {
  const all = [...before];
  for (const one of news) {
    const days = new Set(all.map(({ date }) => date));
    const pairs = new Set(all.map(({ pair }) => pair));
    const newDay = days.size < NEEDED_DAYS && !days.has(one.date);
    const newPair = pairs.size < NEEDED_PAIRS && !pairs.has(one.pair);
    if (newDay || newPair) all.push(one);
  }
  return all;
}

/** The numbers of a day depend on the requested range. The new generation invalidates all split days. */
export function refute(known: Divisibility, generation: string, nowMs: number): Divisibility {
  return {
    ...known,
    state: 'refuted',
    generation,
    agreements: [],
    trials: [],
    provenAt: null,
    refutedUntil: nowMs + REFUTED_MS,
  };
}

/** A final day changed, confirmed by the platform. */
export function noteRestatement(known: Divisibility, ageDays: number): Divisibility {
  return {
    ...known,
    restatements: known.restatements + 1,
    oldestRestatementDays: Math.max(known.oldestRestatementDays, ageDays),
  };
}

/** Identity of a kind: endpoint, method, split, `spentBased` and unknown parameters with their values; no account, no campaigns. */
export function divisibilityId(report: Report, accountFields: readonly string[]): string {
  const known = ids.get(report);
  if (known?.accountFields === accountFields) return known.id;
  const id = makeId(report, accountFields);
  ids.set(report, { accountFields, id });
  return id;
}

/** Memoized: needed several times for each answer. */
const ids = new WeakMap<Report, { readonly accountFields: readonly string[]; readonly id: string }>();

function makeId(report: Report, accountFields: readonly string[]): string {
  const apart = new Set([...accountFields, 'campaignIds']);
  const parts = report.members
    .filter(({ name }) => !apart.has(name))
    .map(({ name, place, pairs, json }) =>
      digest([name, place, json, ...pairs.flatMap((pair) => [pair.name, pair.value])]),
    );
  return digest([report.endpoint, report.method, ...parts]).slice(0, 22);
}

/** Identity of two answers, by series and periods, in any order. */
export function pairId(series: string, one: string, other: string): string {
  return digest([series, ...[one, other].sort()]).slice(0, 12);
}
