/** Which days of a watched report are due, in which calls, and what that costs a day. Pure. */
import { type DayRange, type PlanRules, planCalls, stretchCalls } from '../cache/plan.js';
import type { RowsHeader } from '../rows/entry.js';
import { type FreshnessRules, isFinal, isFinalDay, MAX_FUTURE_MS } from '../rows/freshness.js';

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
/** A final day is read so often. */
const WEEK_DAYS = 7;
const WEEK_MS = WEEK_DAYS * DAY_MS;
/** Nearby days that are not final join a call once this share of their interval has passed. */
const JOINS_FROM = 0.5;

export interface WatchRules {
  readonly maxAgeDays: number;
  readonly rules: FreshnessRules;
  readonly plan: PlanRules;
}

/** Days as day numbers. */
interface Watched extends WatchRules {
  /** Period of the report. */
  readonly from: number;
  readonly to: number;
  readonly today: number;
}

/** What is known of a day by its last fetch. */
export type WatchedDay = Pick<
  RowsHeader,
  | 'fetchedAt'
  | 'fetchedOn'
  | 'lastDay'
  | 'flaws'
  | 'doubt'
  | 'forgotten'
  | 'answerRows'
  | 'complete'
  | 'expiredAtMs'
>;

export interface WatchPlan {
  /** Calls to be made now. */
  readonly ranges: readonly DayRange[];
  /** When a known day is due next, epoch milliseconds; null: there is none. */
  readonly nextMs: number | null;
}

/** Days that are watched now. @returns null: none, as all are too old, or none has begun */
export function watchedDays({ from, to, today, maxAgeDays, rules }: Watched): DayRange | null {
  // The platform has no rows of older days.
  const oldest = Math.min(maxAgeDays, (rules.edgeDays ?? Number.POSITIVE_INFINITY) - 1);
  const days = { from: Math.max(from, today - oldest), to: Math.min(to, today) };
  return days.from <= days.to ? days : null;
}

/** Whether all days of a fixed period are too old. */
export function isOver({ to, today, maxAgeDays }: Pick<Watched, 'to' | 'today' | 'maxAgeDays'>): boolean {
  return to < today - maxAgeDays;
}

/** How often a day of this age is read while it is not final, milliseconds; at most once a minute. */
function intervalMs(age: number, { currentMs, restatingMs, settled }: FreshnessRules): number {
  const isSettled = settled !== undefined && age >= settled.fromAge;
  return Math.max(MINUTE_MS, age <= 0 ? currentMs : isSettled ? settled.ms : restatingMs);
}

/** @param known the last fetch of a day; undefined: it was never fetched, or its rows are void */
export function planWatch(
  watched: Watched & { readonly nowMs: number },
  known: (day: number) => WatchedDay | undefined,
): WatchPlan {
  const { rules, plan, nowMs } = watched;
  const days = watchedDays(watched);
  if (days === null) return { ranges: [], nextMs: null };
  const missing: number[] = [];
  const open: Known[] = [];
  const final: Known[] = [];
  for (let day = days.from; day <= days.to; day++) {
    const last = known(day);
    if (last === undefined || last.fetchedAt > nowMs + MAX_FUTURE_MS) missing.push(day);
    else if (isFinal(last, rules)) final.push(knownDay(day, last, WEEK_MS));
    else open.push(knownDay(day, last, intervalMs(last.fetchedOn - day, rules)));
  }
  const isDue = ({ dueMs }: Known) => dueMs <= nowMs;
  const soon = open.filter(({ dueMs, everyMs }) => dueMs - nowMs <= (1 - JOINS_FROM) * everyMs);
  // Days that are read equally often stay together, and final days are read in one call.
  const due = new Set(open.filter(isDue).map(({ everyMs }) => everyMs));
  const together = [...soon.filter(({ everyMs }) => due.has(everyMs)), ...(final.some(isDue) ? final : [])];
  const wanted = [...missing, ...together.map(({ day }) => day)].sort((a, b) => a - b);
  const calls = planCalls(wanted, plan);
  // If they need several calls, a call that takes some of them along tears them apart.
  const isOneCall = missing.length + open.length <= plan.maxDaysPerCall;
  const along = isOneCall ? soon.map(({ day }) => day) : [];
  const all = [...open, ...final].map(({ dueMs }) => dueMs);
  const nextMs = wanted.length > 0 ? nowMs : all.length > 0 ? Math.min(...all) : null;
  return { ranges: stretchCalls(calls, along, plan), nextMs };
}

interface Known {
  readonly day: number;
  readonly everyMs: number;
  readonly dueMs: number;
}

function knownDay(day: number, { fetchedAt, expiredAtMs }: WatchedDay, everyMs: number): Known {
  return { day, everyMs, dueMs: Math.min(fetchedAt + everyMs, expiredAtMs ?? Number.POSITIVE_INFINITY) };
}

export interface Price {
  /** Platform calls a day, rounded up to hundredths. The first reads of days that are not cached yet come on top. */
  readonly callsPerDay: number;
  /** Days that are watched now. */
  readonly days: number;
}

/** The price of a watch as of today. Days that are due together share a call, so the most frequent one sets the pace of those near it. */
export function priceOf(watched: Watched): Price {
  const { today, rules, plan } = watched;
  const days = watchedDays(watched);
  if (days === null) return { callsPerDay: 0, days: 0 };
  const final: number[] = [];
  /** Days that are not final, by how often they are read. */
  const counts = new Map<number, number>();
  for (let day = days.from; day <= days.to; day++) {
    if (isFinalDay(day, today, rules.restatementDays)) final.push(day);
    else {
      const everyMs = intervalMs(today - day, rules);
      counts.set(everyMs, (counts.get(everyMs) ?? 0) + 1);
    }
  }
  const callsFor = (count: number) => Math.ceil(count / plan.maxDaysPerCall);
  const all = days.to - days.from + 1 - final.length;
  // The oldest of yesterday is read with them, until it is final.
  const pace =
    all < plan.maxDaysPerCall
      ? DAY_MS / Math.min(...counts.keys())
      : [...counts].reduce((sum, [everyMs, count]) => sum + (callsFor(count) * DAY_MS) / everyMs, 0);
  // And one, as a day begins.
  const open = all === 0 ? 0 : pace + 1;
  const calls = open + callsFor(final.length) / WEEK_DAYS;
  return { callsPerDay: Math.ceil(calls * 100) / 100, days: days.to - days.from + 1 };
}
