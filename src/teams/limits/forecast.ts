/**
 * When a daily budget will be used up: the usual day of a team, scaled by today's pace. Recent hours count most. Calls far
 * above the usual, as of a script that loops, are expected to continue at the same rate. Pure.
 */

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** After this time an hour counts half for the pace; much sooner for calls beyond the usual. */
const [HALF_LIFE_HOURS, HALF_LIFE_OF_EXCESS_HOURS] = [2, 0.3];
/** This part of an hour of the day a week ago is added to today's pace, so that the first calls do not determine it. */
const PRIOR_HOURS = 0.1;
/** Calls above this multiple of the usual hour are in excess. */
const MAX_SCALE = 3;

export interface BudgetUse {
  /** Less than the limit. */
  readonly used: number;
  readonly limit: number;
  /** Calls by hour of the UTC day: of the seven days before, and of today so far. */
  readonly calls: readonly number[];
}

/** @returns epoch milliseconds; null: not today, at this pace */
export function exhaustedAtMs({ used, limit, calls }: BudgetUse, nowMs: number): number | null {
  const hours = (nowMs / HOUR_MS) % HOURS;
  const { usual, scale, excess } = paceOf(calls, used, hours);
  let left = limit - used;
  for (let hour = Math.floor(hours), from = hours; hour < HOURS; from = ++hour) {
    const rate = scale * (usual[hour] ?? 0) + excess;
    const until = from + left / rate;
    if (until < hour + 1) return nowMs + (until - hours) * HOUR_MS;
    left -= rate * (hour + 1 - from);
  }
  return null;
}

/** Calls per hour: `scale` times the usual ones of that hour, and `excess` more. */
function paceOf(calls: readonly number[], used: number, hours: number) {
  const days = Array.from({ length: 8 }, (_, day) => calls.slice(day * HOURS, (day + 1) * HOURS));
  const today = days.pop() ?? [];
  const busy = days.filter((day) => sum(day) > 0);
  const usual = today.map((_, hour) => sum(busy.map((day) => day[hour] ?? 0)) / (busy.length || 1));
  // Calls of other replicas are counted some seconds later.
  const part = Math.max(1, used / (sum(today) || used));
  const some = (PRIOR_HOURS * sum(usual)) / HOURS;
  let [ordinary, expected, excess, span] = [(PRIOR_HOURS * sum(days[0] ?? [])) / HOURS || some, some, 0, 0];
  for (let hour = 0; hour < hours; hour++) {
    const length = Math.min(1, hours - hour);
    const age = hours - hour - length / 2;
    const [weight, late] = [2 ** -(age / HALF_LIFE_HOURS), 2 ** -(age / HALF_LIFE_OF_EXCESS_HOURS)];
    const [count, usually] = [part * (today[hour] ?? 0), length * (usual[hour] ?? 0)];
    const isExcessive = count > MAX_SCALE * usually + some;
    ordinary += weight * (isExcessive ? usually : count);
    expected += weight * usually;
    excess += late * (isExcessive ? count - usually : 0);
    span += late * length;
  }
  return { usual, scale: ordinary / (expected || 1), excess: excess / (span || 1) };
}

const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
