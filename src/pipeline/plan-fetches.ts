/** Which calls bring which entries. Pure. */
import { dayNumber, isoDay } from '../report/days.js';
import type { Entry } from '../report/entry.js';
import { freshForMs, isFinal } from '../report/freshness.js';
import type { Range } from '../report/period.js';
import { planCalls, stretchCalls } from '../report/plan.js';
import type { ReportPolicy } from '../report-policy.js';
import type { EntryRef } from './question.js';

/** One call, and the wanted entries it would bring. */
export interface PlannedFetch {
  readonly refs: readonly EntryRef[];
  readonly range: Range;
  /** What is locked for it, in place of its entries' own locks, since a part of the period is never asked for. */
  readonly lockAs: string | null;
}

export interface PlanInput {
  readonly mode: 'days' | 'whole';
  /** All entries of the report. */
  readonly refs: readonly EntryRef[];
  /** Those to be brought. */
  readonly wanted: readonly EntryRef[];
  /** What is known of entries, by key. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly nowMs: number;
  readonly policy: Pick<ReportPolicy, 'plan' | 'freshness'>;
  /** One call for all entries, however few are wanted. */
  readonly entire?: boolean;
  readonly lockAs?: string | null;
}

/**
 * A day that may still change is fetched ahead of time by a call that passes by once this much of its freshness is
 * gone. The call costs no more for it, and a call of its own, soon, is saved (`bench/economics.mjs` shows how many).
 */
const PREFETCHED_FROM = 0.5;

export function planFetches(input: PlanInput): PlannedFetch[] {
  const { mode, refs, wanted, known, nowMs, policy, entire, lockAs = null } = input;
  const { plan, freshness } = policy;
  if (mode === 'whole')
    return wanted.map((ref) => ({
      refs: [ref],
      range: { from: ref.from, to: ref.to },
      lockAs,
    }));
  const [first, last] = [refs[0], refs.at(-1)];
  if (entire && wanted.length > 0 && first && last)
    return [{ refs: wanted, range: { from: first.from, to: last.to }, lockAs }];
  const days = wanted.map(numberOf).sort((a, b) => a - b);
  const prefetched = refs.filter(({ id }) => {
    const header = known.get(id)?.header;
    if (header === undefined || isFinal(header, freshness)) return false;
    return nowMs - header.fetchedAt >= PREFETCHED_FROM * freshForMs(header, freshness);
  });
  return stretchCalls(planCalls(days, plan), prefetched.map(numberOf), plan).map(({ from, to }) => ({
    range: { from: isoDay(from), to: isoDay(to) },
    refs: wanted.filter((ref) => numberOf(ref) >= from && numberOf(ref) <= to),
    lockAs,
  }));
}

/** Of an entry that is a day. */
export function numberOf({ from }: EntryRef): number {
  return dayNumber(from as string) as number;
}
