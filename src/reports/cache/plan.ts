/** Plans platform calls for days. Pure. */
import { dayNumber, isoDay } from '../query/days.js';
import type { Period } from '../query/period.js';
import type { EntryRef } from '../question.js';
import type { Entry } from '../rows/entry.js';
import { type FreshnessRules, freshForMs, isFinal } from '../rows/freshness.js';

export interface PlanRules {
  /** Runs of needed days are merged across gaps of at most this many days. */
  readonly mergeGapDays: number;
  /** Longest call. */
  readonly maxDaysPerCall: number;
}

/** As day numbers, both ends included. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Ranges that cover every needed day, within the limit of a call.
 * @param needed day numbers, ascending, unique
 * @returns newest first: recent days are read most
 */
export function planCalls(needed: readonly number[], rules: PlanRules): DayRange[] {
  const runs: DayRange[] = [];
  for (const day of needed) {
    const last = runs.at(-1);
    const near = last !== undefined && day - last.to - 1 <= rules.mergeGapDays;
    if (near && day - last.from + 1 <= rules.maxDaysPerCall)
      runs[runs.length - 1] = { from: last.from, to: day };
    else runs.push({ from: day, to: day });
  }
  return runs.reverse();
}

/**
 * Extends calls over nearby days that need a refresh soon: they cost no extra call.
 * @param calls from {@link planCalls}
 * @param prefetched day numbers, ascending
 */
export function stretchCalls(
  calls: readonly DayRange[],
  prefetched: readonly number[],
  rules: PlanRules,
): DayRange[] {
  const taken = new Set(calls.flatMap(({ from, to }) => [from, to]));
  return calls.map((call) => {
    let { from, to } = call;
    const fits = (low: number, high: number) => high - low + 1 <= rules.maxDaysPerCall;
    for (const day of prefetched) {
      if (day > to && day - to - 1 <= rules.mergeGapDays && fits(from, day) && !between(taken, to + 1, day))
        to = day;
    }
    for (const day of [...prefetched].reverse()) {
      if (
        day < from &&
        from - day - 1 <= rules.mergeGapDays &&
        fits(day, to) &&
        !between(taken, day, from - 1)
      )
        from = day;
    }
    // The call across the gap must not prefetch the same days.
    taken.add(from).add(to);
    return { from, to };
  });
}

function between(days: ReadonlySet<number>, low: number, high: number): boolean {
  for (let day = low; day <= high; day++) if (days.has(day)) return true;
  return false;
}

/** One call, and the wanted entries it covers. */
export interface PlannedFetch {
  readonly refs: readonly EntryRef[];
  readonly range: Period;
}

export interface PlanInput {
  readonly mode: 'days' | 'whole';
  /** All entries of the report. */
  readonly refs: readonly EntryRef[];
  /** Entries to fetch. */
  readonly wanted: readonly EntryRef[];
  /** Known days right before the period, in order. */
  readonly before?: readonly EntryRef[];
  /** Known entries by id. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly nowMs: number;
  readonly plan: PlanRules;
  readonly rules: FreshnessRules;
  /** One call for all entries, however few are wanted. */
  readonly entire?: boolean;
}

/**
 * A provisional day is prefetched by a nearby call once this share of its freshness has passed. That saves a later call
 * (`bench/economics.mjs` shows how many).
 */
const PREFETCHED_FROM = 0.5;

export function planFetches(input: PlanInput): PlannedFetch[] {
  const { mode, refs, wanted, before = [], known, nowMs, plan, rules, entire } = input;
  if (mode === 'whole') return wanted.map((ref) => ({ refs: [ref], range: { from: ref.from, to: ref.to } }));
  const [first, last] = [refs[0], refs.at(-1)];
  if (entire && wanted.length > 0 && first && last)
    return [{ refs: wanted, range: { from: first.from, to: last.to } }];
  const days = wanted.map(numberOf).sort((a, b) => a - b);
  const prefetched = [...before, ...refs].filter(({ id }) => {
    const header = known.get(id)?.header;
    if (header === undefined || isFinal(header, rules)) return false;
    return nowMs - header.fetchedAt >= PREFETCHED_FROM * freshForMs(header, rules);
  });
  return stretchCalls(planCalls(days, plan), prefetched.map(numberOf), plan).map(({ from, to }) => ({
    range: { from: isoDay(from), to: isoDay(to) },
    refs: wanted.filter((ref) => numberOf(ref) >= from && numberOf(ref) <= to),
  }));
}

/** Of an entry that is a day. */
function numberOf({ from }: EntryRef): number {
  return dayNumber(from as string) as number;
}

/**
 * @param left locked entries that are not fetched yet
 * @param underWay entries that others are fetching; the call must not span them
 * @returns one call, or null, and the entries of `left` in it; the rest is for the next round
 */
export function leftToFetch(
  planned: PlannedFetch,
  left: readonly EntryRef[],
  underWay: readonly EntryRef[],
  mode: 'days' | 'whole',
  plan: PlanRules,
): { readonly range: Period | null; readonly refs: readonly EntryRef[] } {
  const [ref] = left;
  if (ref === undefined) return { range: null, refs: [] };
  if (left.length === planned.refs.length) return { range: planned.range, refs: left };
  if (mode === 'whole') return { range: { from: ref.from, to: ref.to }, refs: left };
  const days = left.map(numberOf).sort((a, b) => a - b);
  const { from, to } = planCalls(days, plan)[0] as DayRange;
  const wall = Math.max(from - 1, ...underWay.map(numberOf).filter((day) => day < to));
  const first = days.find((day) => day > wall) as number;
  return {
    range: { from: isoDay(first), to: isoDay(to) },
    refs: left.filter((one) => numberOf(one) >= first && numberOf(one) <= to),
  };
}
