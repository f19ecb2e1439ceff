/**
 * Freshness by the age of the youngest day at the start of the fetch. Computed from stored facts on each read, so changed
 * settings apply to cached entries too.
 */
import { dayNumber, isoDay } from '../query/days.js';
import { FLAWED_MS, type Flaw } from './flaws.js';

export interface FreshnessRules {
  readonly restatementDays: number;
  readonly currentMs: number;
  readonly restatingMs: number;
  readonly finalMs: number;
  readonly emptyMs: number;
  readonly emptyFinalMs: number;
  readonly undeclaredMs: number;
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  /** Days served from history as beyond retention before it are fetched again: that edge was wrong. Epoch milliseconds. */
  readonly edgeEndedMs?: number;
  /** How long a provisional day is fresh from an age on at which no day was seen to change. */
  readonly settled?: { readonly fromAge: number; readonly ms: number };
}

/** Of a stored answer, or of one day of it. */
export interface Facts extends EmptyEnd {
  readonly fetchStartedAt: number;
  readonly fetchedAt: number;
  /** Last day covered; null when the platform chose the period. */
  readonly lastDay: string | null;
  /** The platform's today when the fetch began, as a day number. */
  readonly fetchedOn: number;
  /** The report names account and period, and its endpoint is declared. */
  readonly kind: 'bounded' | 'open' | 'undeclared';
  /** Set when RFC 9111 decides instead (`freshness: origin`); such an answer is never served stale. */
  readonly originMs: number | null;
  /** How it visibly differs from the query; absent where it does not. */
  readonly flaws?: readonly Flaw[] | undefined;
  /** Set where the platform no longer gives the rows, and they are from history. */
  readonly forgotten?: Forgotten;
}

/** Days whose rows the platform no longer gives, and history has. */
interface Forgotten {
  readonly code: 'beyond_retention' | 'all_days_empty';
  /** ISO */
  readonly days: readonly string[];
  /** When the platform was first seen without them, epoch milliseconds. */
  readonly sinceMs: number;
  /** When it last gave them, epoch milliseconds. */
  readonly seenMs: number;
  /** Whether they had been seen final. */
  readonly final: boolean;
  /** After which they are fetched again. */
  readonly againMs: number;
}

/** A clock this far behind the writer's is not trusted: the entry counts as absent. */
export const MAX_FUTURE_MS = 300_000;

/** Today the 10th and 5 days of restatement: the 4th is final, the 5th is not. */
export function isFinalDay(day: number, today: number, restatementDays: number): boolean {
  return day < today - restatementDays;
}

/** @returns whether the last day was past restatement when the fetch began: its numbers no longer change. */
export function isFinal(
  facts: Pick<Facts, 'lastDay' | 'fetchedOn' | 'flaws' | 'forgotten'>,
  rules: FinalRules,
): boolean {
  if (facts.lastDay === null || facts.flaws !== undefined) return false;
  if (facts.forgotten?.final === false) return false;
  return isFinalDay(dayNumber(facts.lastDay) as number, facts.fetchedOn, rules.restatementDays);
}

export type FinalRules = Pick<FreshnessRules, 'restatementDays'>;

/** @returns days by whether they are old enough to be final today */
export function byAge(
  dates: readonly string[],
  today: number,
  { restatementDays }: FinalRules,
): { readonly old: readonly string[]; readonly young: readonly string[] } {
  const isOld = (date: string) => isFinalDay(dayNumber(date) as number, today, restatementDays);
  return { old: dates.filter(isOld), young: dates.filter((date) => !isOld(date)) };
}

/** Days listed in a message; of more, some are listed and the rest is counted. */
const MAX_NAMED = 3;
const NAMED_OF_MORE = 2;

/** E.g. `2026-11-17 (expected to be final on 2026-11-23) and 4 more, the last, 2026-11-21, on 2026-11-27`. */
export function expectedFinalDates(dates: readonly string[], { restatementDays }: FinalRules): string {
  const finalOn = (date: string) => isoDay((dayNumber(date) as number) + restatementDays + 1);
  const shown = dates.length > MAX_NAMED ? NAMED_OF_MORE : dates.length;
  const named = dates
    .slice(0, shown)
    .map((date) => `${date} (expected to be final on ${finalOn(date)})`)
    .join(', ');
  const last = dates.at(-1) as string;
  const more = dates.length - shown;
  return more === 0 ? named : `${named} and ${more} more, the last, ${last}, on ${finalOn(last)}`;
}

/** @returns milliseconds of freshness, counted from `fetchedAt` */
export function freshForMs(facts: Facts, rules: FreshnessRules): number {
  const ms = freshByAgeMs(facts, rules);
  return facts.flaws === undefined ? ms : Math.min(ms, FLAWED_MS);
}

function freshByAgeMs(facts: Facts, rules: FreshnessRules): number {
  if (facts.originMs !== null) return facts.originMs;
  if (facts.forgotten !== undefined) return isDisproved(facts, rules) ? 0 : facts.forgotten.againMs;
  if (facts.kind === 'undeclared') return rules.undeclaredMs;
  if (facts.kind === 'open' || facts.lastDay === null) return rules.currentMs;
  if ((dayNumber(facts.lastDay) as number) >= facts.fetchedOn) return rules.currentMs;
  const final = isFinal(facts, rules);
  // Without the days of a confirmed empty tail, one of them may have been seen empty only once.
  const confirmed = facts.emptyTail === 'confirmed' && facts.emptySince !== undefined;
  if (facts.emptyTail === 'no' || confirmed)
    return final ? rules.finalMs : restatingMs(facts.fetchedOn - (dayNumber(facts.lastDay) as number), rules);
  return final ? rules.emptyFinalMs : rules.emptyMs;
}

function isDisproved({ forgotten, fetchedAt }: Facts, { edgeEndedMs = 0 }: FreshnessRules): boolean {
  return forgotten?.code === 'beyond_retention' && fetchedAt < edgeEndedMs;
}

function restatingMs(ageDays: number, { settled, restatingMs }: FreshnessRules): number {
  return settled !== undefined && ageDays >= settled.fromAge ? settled.ms : restatingMs;
}

/** @returns milliseconds for which a refusal is remembered: at most as long as the platform allows */
export function rememberedForMs({ originMs }: Pick<Facts, 'originMs'>, negativeMs: number): number {
  return Math.min(negativeMs, originMs ?? negativeMs);
}

export type State = 'fresh' | 'revalidate' | 'error-only' | 'absent';

/**
 * What an entry may be used for now.
 * fresh: as it is · revalidate: at once, while a refresh runs behind · error-only: when the platform fails
 */
export function stateAt(facts: Facts, rules: FreshnessRules, nowMs: number): State {
  if (facts.fetchedAt > nowMs + MAX_FUTURE_MS) return 'absent';
  const pastMs = nowMs - facts.fetchedAt - freshForMs(facts, rules);
  if (pastMs < 0) return 'fresh';
  // RFC 9111, section 4.2.4: which answers the platform forbids to serve stale is not known here, so none is.
  if (facts.originMs !== null || facts.flaws !== undefined) return 'absent';
  if (pastMs < rules.staleWhileRevalidateMs) return 'revalidate';
  return pastMs < rules.staleIfErrorMs ? 'error-only' : 'absent';
}

/** When the platform last returned these rows, epoch milliseconds. */
export function lastSeenMs({ fetchedAt, forgotten }: Pick<Facts, 'fetchedAt' | 'forgotten'>): number {
  return forgotten?.seenMs ?? fetchedAt;
}

/** Age for callers: never negative, though clocks may differ. */
export function ageMs(fetchedAt: number, nowMs: number): number {
  return Math.max(0, nowMs - fetchedAt);
}

// Days without rows at the end of an answer may be an outage, a cap or data that is not ready. Such a day is confirmed by two
// fetches, an hour apart. Each day is confirmed separately.

/** Minimum time until a second fetch confirms an empty day. */
const CONFIRM_AFTER_MS = 3_600_000;

/** From this ISO day on, up to the next run or the last day: since when every look has found the day empty. */
type EmptyRun = readonly [from: string, sinceMs: number];

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
