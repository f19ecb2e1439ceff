/**
 * Freshness by the age of the youngest day at the start of the fetch. Computed from stored facts on each read, so changed
 * settings apply to cached entries too.
 */
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
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
  /** Days served from history as beyond retention before this time are fetched again, because the retention was wrong. Epoch ms. */
  readonly edgeEndedMs?: number;
  /** Age from which the platform has no rows of a day, as learned or declared; absent: unknown. */
  readonly edgeDays?: number;
  /** Row counts at which the platform truncates such a report, as known now. */
  readonly caps?: readonly number[];
  /** Freshness of provisional days from an age on after which no day was seen to change. */
  readonly settled?: { readonly fromAge: number; readonly ms: number };
}

/** The single answer of the platform that rows came from. */
export interface AnswerSize {
  /** Its row count; absent if it had no readable rows. */
  readonly answerRows?: number;
  /** Halves of its period proved that it is complete, whatever its row count. */
  readonly complete?: true;
  /** Absent if there are none. */
  readonly flaws?: readonly Flaw[] | undefined;
}

/** About a stored answer, or one day of it. */
export interface Facts extends EmptyEnd, AnswerSize {
  /** Of the fetch: a later one is larger, whatever the clocks of replicas say; 0 in a state of history. See the days' port. */
  readonly order: number;
  readonly fetchStartedAt: number;
  readonly fetchedAt: number;
  /** First day covered, of a whole answer; absent in a single day of it, and when the platform chose the period. */
  readonly firstDay?: string;
  /** Last day covered; null when the platform chose the period. */
  readonly lastDay: string | null;
  /** The platform's today when the fetch began, as a day number. */
  readonly fetchedOn: number;
  /** bounded: the report names account and period · undeclared: its endpoint is not in the configuration */
  readonly kind: 'bounded' | 'open' | 'undeclared';
  /** Set if RFC 9111 decides (`freshness: origin`); such an answer is never served stale. */
  readonly originMs: number | null;
  readonly forgotten?: Forgotten;
  /** Why it may be no report. Then it is served if there is nothing better, never final and never stored. */
  readonly doubt?: string;
  /**
   * Of an entry that was read: when a soft purge, or a failed call to replace it, ended its freshness, epoch milliseconds. Never
   * stored.
   */
  readonly expiredAtMs?: number;
}

/** Days whose rows the platform no longer returns. Times in epoch milliseconds. */
export interface Forgotten {
  readonly code: 'beyond_retention' | 'all_days_empty';
  /** Served from history. ISO */
  readonly days: readonly string[];
  /** Without rows in history, so that they are missing. ISO */
  readonly missing?: readonly string[];
  /** First answer without them. */
  readonly sinceMs: number;
  /** Last answer with them. */
  readonly seenMs: number;
  readonly final: boolean;
  /** Milliseconds until the next fetch. */
  readonly againMs: number;
}

/** Entries from further in the future count as absent: this clock is wrong. */
export const MAX_FUTURE_MS = 300_000;

/** E.g. on the 10th with 5 days of restatement: the 4th is final, the 5th is not. */
export function isFinalDay(day: number, today: number, restatementDays: number): boolean {
  return day < today - restatementDays;
}

/**
 * Whether rows came from an answer that the platform truncated at a row cap known now, and are not marked as such: fetched before
 * the cap was known. They are void, wherever they are stored.
 */
export function isCut({ answerRows, complete, flaws }: AnswerSize, { caps }: CapRules): boolean {
  if (caps === undefined || answerRows === undefined || complete === true) return false;
  return caps.includes(answerRows) && !flaws?.some(({ code }) => code === 'rows_capped');
}

export type CapRules = Pick<FreshnessRules, 'caps'>;

/** Whether the last day was past restatement when the fetch began, and no day was beyond the platform's retention. */
export function isFinal(
  facts: Pick<Facts, 'firstDay' | 'lastDay' | 'fetchedOn' | 'forgotten' | 'doubt' | keyof AnswerSize>,
  rules: FinalRules,
): boolean {
  if (facts.lastDay === null || (facts.flaws ?? facts.doubt) !== undefined || isCut(facts, rules))
    return false;
  if (facts.forgotten?.final === false || lacksDays(facts, rules)) return false;
  return isFinalDay(dayNumber(facts.lastDay) as number, facts.fetchedOn, rules.restatementDays);
}

export type FinalRules = Pick<FreshnessRules, 'restatementDays' | 'edgeDays' | 'caps'>;

type Covered = Pick<Facts, 'firstDay' | 'lastDay' | 'fetchedOn' | 'forgotten'>;

/** Whether the platform had forgotten days of a whole answer when it was fetched. A join with history has them. */
export function lacksDays(
  { firstDay, fetchedOn, forgotten }: Covered,
  { edgeDays }: Pick<FreshnessRules, 'edgeDays'>,
): boolean {
  if (edgeDays === undefined || firstDay === undefined || forgotten !== undefined) return false;
  return fetchedOn - (dayNumber(firstDay) as number) >= edgeDays;
}

/** The days of {@link lacksDays}, ISO. */
export function lackingDays(facts: Covered, rules: Pick<FreshnessRules, 'edgeDays'>): readonly string[] {
  const { firstDay, lastDay, fetchedOn } = facts;
  if (!lacksDays(facts, rules) || firstDay === undefined) return [];
  const last = isoDay(fetchedOn - (rules.edgeDays as number));
  return daysBetween(firstDay, lastDay === null || last < lastDay ? last : lastDay);
}

/** Days by whether they are old enough to be final today. */
export function byAge(
  dates: readonly string[],
  today: number,
  { restatementDays }: FinalRules,
): { readonly old: readonly string[]; readonly young: readonly string[] } {
  const isOld = (date: string) => isFinalDay(dayNumber(date) as number, today, restatementDays);
  return { old: dates.filter(isOld), young: dates.filter((date) => !isOld(date)) };
}

/** Days listed in a message; of more, two are listed and the others counted. */
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

/** Milliseconds, from `fetchedAt`. */
export function freshForMs(facts: Facts, rules: FreshnessRules): number {
  const byAge = freshByAgeMs(facts, rules);
  const ms = facts.flaws === undefined ? byAge : Math.min(byAge, FLAWED_MS);
  return facts.expiredAtMs === undefined ? ms : Math.min(ms, facts.expiredAtMs - facts.fetchedAt);
}

function freshByAgeMs(facts: Facts, rules: FreshnessRules): number {
  if (facts.originMs !== null) return facts.originMs;
  if (isDisproved(facts, rules)) return 0;
  if (facts.forgotten !== undefined) return facts.forgotten.againMs;
  if (facts.kind === 'undeclared') return rules.undeclaredMs;
  if (facts.kind === 'open' || facts.lastDay === null) return rules.currentMs;
  if ((dayNumber(facts.lastDay) as number) >= facts.fetchedOn) return rules.currentMs;
  const ms = freshByLastDayMs(facts, facts.lastDay, rules);
  return lacksDays(facts, rules) ? Math.min(ms, FORGOTTEN_MS) : ms;
}

function freshByLastDayMs(facts: Facts, lastDay: string, rules: FreshnessRules): number {
  const ageDays = facts.fetchedOn - (dayNumber(lastDay) as number);
  const final = ageDays > rules.restatementDays;
  // Without `emptySince`, a day may have been seen empty only once.
  const confirmed = facts.emptyTail === 'confirmed' && facts.emptySince !== undefined;
  if (facts.emptyTail === 'no' || confirmed) return final ? rules.finalMs : restatingMs(ageDays, rules);
  return final ? rules.emptyFinalMs : rules.emptyMs;
}

/** A day is fetched again after this time, in case the platform has it again. */
export const FORGOTTEN_MS = 86_400_000;

/**
 * Whether an answer was fetched before the known retention proved wrong, and depends on it: by days from history, or as a whole
 * answer whose first day is old, so that it may lack days.
 */
function isDisproved({ firstDay, fetchedOn, forgotten, fetchedAt }: Facts, rules: FreshnessRules): boolean {
  if (fetchedAt >= (rules.edgeEndedMs ?? 0)) return false;
  if (forgotten !== undefined) return forgotten.code === 'beyond_retention';
  return (
    firstDay !== undefined && isFinalDay(dayNumber(firstDay) as number, fetchedOn, rules.restatementDays)
  );
}

function restatingMs(ageDays: number, { settled, restatingMs }: FreshnessRules): number {
  return settled !== undefined && ageDays >= settled.fromAge ? settled.ms : restatingMs;
}

/** Milliseconds for which a refusal is cached: at most what the platform allows. */
export function rememberedForMs({ originMs }: Pick<Facts, 'originMs'>, negativeMs: number): number {
  return Math.min(negativeMs, originMs ?? negativeMs);
}

export type State = 'fresh' | 'revalidate' | 'error-only' | 'absent';

/** fresh · revalidate: served while it is refreshed in the background · error-only: served if the platform fails · absent */
export function stateAt(facts: Facts, rules: FreshnessRules, nowMs: number): State {
  if (facts.fetchedAt > nowMs + MAX_FUTURE_MS || isCut(facts, rules)) return 'absent';
  const pastMs = nowMs - facts.fetchedAt - freshForMs(facts, rules);
  if (pastMs < 0) return 'fresh';
  // RFC 9111, section 4.2.4: the platform may forbid stale answers, which is not known here.
  if (facts.originMs !== null || facts.flaws !== undefined) return 'absent';
  if (pastMs < rules.staleWhileRevalidateMs) return 'revalidate';
  return pastMs < rules.staleIfErrorMs ? 'error-only' : 'absent';
}

/** When the platform last returned these rows, epoch milliseconds. */
export function lastSeenMs({ fetchedAt, forgotten }: Pick<Facts, 'fetchedAt' | 'forgotten'>): number {
  return forgotten?.seenMs ?? fetchedAt;
}

/** Never negative, although clocks differ. */
export function ageMs(fetchedAt: number, nowMs: number): number {
  return Math.max(0, nowMs - fetchedAt);
}

// Days without rows at the end of an answer may be an outage, a cap or data that is not ready. Each such day is confirmed
// separately, by a second fetch.

/** Minimum time between the two fetches. */
const CONFIRM_AFTER_MS = 3_600_000;

/** Since when the days from this ISO day to the next run, or to the last day, have been empty in every fetch. */
type EmptyRun = readonly [from: string, sinceMs: number];

/** Days without rows at the end of an answer, or one such day. */
export interface EmptyEnd {
  /** `confirmed` if all days of the tail are. */
  readonly emptyTail: 'no' | 'unconfirmed' | 'confirmed';
  /** Absent if the last day has rows, and in entries of older releases. */
  readonly emptySince?: readonly EmptyRun[];
}

/** An earlier fetch. */
export type EarlierLook = EmptyEnd & Pick<Facts, 'fetchedAt' | 'lastDay'>;

/**
 * @param days ISO days without rows at the end of an answer, ascending; the last day alone for an empty answer that is not
 *   split by date
 * @param earlierOf the last fetch of a day before this one
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

/** Of a join of days. */
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

/** @returns null if the earlier fetch had rows, or not this day */
function seenEmptySince(earlier: EarlierLook | null, day: string): number | null {
  if (earlier === null || earlier.emptyTail === 'no') return null;
  const { emptySince, lastDay, fetchedAt } = earlier;
  // Of an older release: only the last day is known to be empty.
  if (emptySince === undefined) return lastDay === day ? fetchedAt : null;
  if (lastDay === null || day > lastDay) return null;
  return emptySince.findLast(([from]) => from <= day)?.[1] ?? null;
}
