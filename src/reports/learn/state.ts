/**
 * Whether answers of a kind may be split by day: learned from answers that overlap, tried in probation, never assumed. Pure.
 *
 * A platform whose numbers for a day depend on the range asked for (attribution windows, sampling, caps, campaigns
 * listed only when they delivered) would be falsified by cutting. A few agreements may be chance; so a kind is on
 * probation after them, until ranges of different lengths and ends were held against their joins.
 */
import Type, { type Static } from 'typebox';
import { type Frozen, type RecordOf, recordForm } from '../../lib/record.js';
import type { DayRange } from '../cache/plan.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import { digest } from '../query/platform-call.js';

// Probation: ranges of different lengths and ends are answered as a whole while the join of their days is compared
// with them. Pure: which ranges count, which one to try next, and which further calls make its join whole.

/** A range that was tried; its final days only. */
const TrialRecord = Type.Object({
  /** ISO days, both compared. */
  from: Type.String(),
  to: Type.String(),
  /** How many days, all of them compared. */
  days: Type.Number(),
});
export type Trial = Frozen<Static<typeof TrialRecord>>;

export const NEEDED_TRIALS = 5;
/** One trial at least is so long. */
export const LONG_TRIAL_DAYS = 14;
/** A range with fewer days that have rows proves nothing; a shorter range needs rows on all of its days. */
export const TRIAL_DAYS_WITH_ROWS = 3;

/** Whether it tells more than those before: another length, another end, and a long one when only that is missing. */
export function isNewTrial(before: readonly Trial[], { days, to }: Trial): boolean {
  if (before.some((trial) => trial.days === days || trial.to === to)) return false;
  return before.length < NEEDED_TRIALS || days >= LONG_TRIAL_DAYS;
}

export function isProbationOver(trials: readonly Trial[]): boolean {
  return trials.length >= NEEDED_TRIALS && trials.some(({ days }) => days >= LONG_TRIAL_DAYS);
}

/**
 * The range to try when a range was answered: itself where it counts. Dashboards ask for the same lengths day by day,
 * and would never bring a kind through; so a range that does not count is shifted and stretched into the past.
 * @param answered its final days
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
 * What to ask for so that the join of a tried range is whole: never the range itself. When every day is known there
 * is one call all the same, from the middle of it, for what joins are made of are calls that end there.
 * @param missing days of the range that nothing comparable is known of, ascending
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
 * The range that is asked for when two answers disagree on days: it holds them all, and begins and ends where
 * none of the answers does, nor on a day in dispute.
 * @param ends of the answers that disagree
 * @param today the platform may refuse days to come
 * @returns null when there is no such range
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

/** One final day with rows that two answers with different ends agree on. */
const AgreementRecord = Type.Object({
  date: Type.String(),
  /** Identity of the two answers' series and periods. */
  pair: Type.String(),
});
export type Agreement = Frozen<Static<typeof AgreementRecord>>;

export type DivisibilityState = 'learning' | 'probation' | 'proven' | 'refuted';

const timeOrNull = Type.Union([Type.Number(), Type.Null()]);

/** As it is stored. Members that may be absent were unknown to older releases. */
export const Divisibility = recordForm(
  Type.Object({
    /** As it was last written; {@link currentState} tells what it comes to now. A state of another release proves nothing. */
    state: Type.Unsafe<DivisibilityState>(Type.String()),
    /** Segments split under another generation are void. */
    generation: Type.String(),
    /** While learning: what was agreed on so far, as far as the proof needs it. */
    agreements: Type.Array(AgreementRecord),
    /** On probation: ranges whose joins were found to be the platform's own whole answers. */
    trials: Type.Optional(Type.Array(TrialRecord)),
    /** The generation that has passed probation: an older release proves without it, which is not trusted. */
    triedGeneration: Type.Optional(Type.String()),
    /** Milliseconds since the epoch: when it was proven, or until when it stays refuted. */
    provenAt: timeOrNull,
    refutedUntil: timeOrNull,
    /** Until when its reports are asked for as a whole, because an answer could not be split. */
    wholeUntil: Type.Optional(Type.Number()),
    /** What reports of this kind have in common, for people; absent until a release that writes it learns something. */
    about: Type.Optional(
      Type.Object({
        endpoint: Type.String(),
        split: Type.Array(Type.String()),
        spentBased: Type.Union([Type.String(), Type.Null()]),
        /** Names of parameters that were passed on. */
        passedOn: Type.Array(Type.String()),
      }),
    ),
    /** Final days that changed after all, and the greatest age in days at which one did. */
    restatements: Type.Number(),
    oldestRestatementDays: Type.Number(),
  }),
);
export type Divisibility = RecordOf<typeof Divisibility>;

export const NEEDED_DAYS = 3;
export const NEEDED_PAIRS = 2;
export const REFUTED_MS = 86_400_000;
/** How long a kind is asked for as a whole after an answer that could not be split. */
const WHOLE_MS = 86_400_000;

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

/** The state now: a refutation is over after a day, and what was proven without probation is put on it. */
export function currentState(known: Divisibility, nowMs: number): DivisibilityState {
  if (known.state === 'refuted') return nowMs >= (known.refutedUntil ?? 0) ? 'learning' : 'refuted';
  return known.state === 'proven' && !isProven(known) ? 'probation' : known.state;
}

export function isProven({ state, triedGeneration, generation }: Divisibility): boolean {
  return state === 'proven' && triedGeneration === generation;
}

/** @returns the same value when nothing new was learned */
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

/**
 * A range was answered as a whole, and its join is the same.
 * @returns the same value when the kind is not on probation, or when such a range was tried before
 */
export function passTrial(known: Divisibility, trial: Trial, nowMs: number): Divisibility {
  const before = known.trials ?? [];
  if (currentState(known, nowMs) !== 'probation' || !isNewTrial(before, trial)) return known;
  const trials = [...before, trial];
  if (!isProbationOver(trials)) return { ...known, state: 'probation', trials };
  return {
    ...known,
    state: 'proven',
    trials,
    triedGeneration: known.generation,
    provenAt: nowMs,
  };
}

/** An answer of the kind could not be split: for a day its reports are asked for as a whole. */
export function askAsWhole(known: Divisibility, nowMs: number): Divisibility {
  return { ...known, wholeUntil: nowMs + WHOLE_MS };
}

/** @returns until when reports of the kind are asked for as a whole; null when they need not be */
export function wholeUntil(known: Divisibility | null, nowMs: number): number | null {
  const until = known?.wholeUntil ?? 0;
  // A clock that was set back must not make it longer.
  return until > nowMs && until <= nowMs + WHOLE_MS ? until : null;
}

/**
 * Keeps what brings the proof nearer and nothing else, so that the record stays short whatever comes first: many
 * pairs that agree on one day, or one pair that agrees on many.
 */
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

/** The platform's numbers for a day depend on the range: cutting would lie. All segments of the kind are void. */
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

/** A final day changed, and the platform stands by the change. */
export function noteRestatement(known: Divisibility, ageDays: number): Divisibility {
  return {
    ...known,
    restatements: known.restatements + 1,
    oldestRestatementDays: Math.max(known.oldestRestatementDays, ageDays),
  };
}

/**
 * What is learned together: endpoint, method, split, `spentBased` and unknown parameters with their values, but not
 * whose report it is.
 * @param accountFields names that carry the account
 */
export function divisibilityId(report: Report, accountFields: readonly string[]): string {
  const known = ids.get(report);
  if (known?.accountFields === accountFields) return known.id;
  const id = makeId(report, accountFields);
  ids.set(report, { accountFields, id });
  return id;
}

/** Of reports that are remembered: it is asked for several times an answer. */
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

/** Identity of a pair of answers; the order of the two does not matter. */
export function pairId(series: string, one: string, other: string): string {
  return digest([series, ...[one, other].sort()]).slice(0, 12);
}
