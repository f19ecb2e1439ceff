/**
 * When a daily budget will be used up: the usual day of a team, scaled by today's pace. Recent hours count most. Calls far
 * above the usual, as of a script that loops, are expected to continue at the same rate. Pure.
 */

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** After this time an hour counts half for the pace; much sooner for calls beyond the usual. */
const [HALF_LIFE_HOURS, HALF_LIFE_OF_EXCESS_HOURS] = [2, 0.3];
const PRIOR_HOURS = 0.25;
/** Up to this multiple of the usual day its curve is followed. */
const MAX_SCALE = 3;

export interface BudgetUse {
  readonly used: number;
  readonly limit: number;
  /** A usual day, by hour of the UTC day; zeros where none is known. */
  readonly usual: readonly number[];
  /** Today, by hour; the current hour so far. */
  readonly today: readonly number[];
}

/** @returns epoch milliseconds; null: not today, at this pace */
export function exhaustedAtMs({ used, limit, usual, today }: BudgetUse, nowMs: number): number | null {
  const hours = (nowMs / HOUR_MS) % HOURS;
  const counted = today.reduce((sum, calls) => sum + calls, 0);
  // Calls of other replicas are counted some seconds later.
  const part = counted === 0 ? 1 : Math.max(1, used / counted);
  const { scale, excess } = paceOf(
    usual,
    today.map((calls) => calls * part),
    hours,
  );
  let left = limit - used;
  for (let hour = Math.floor(hours); hour < HOURS; hour++) {
    const start = Math.max(hour, hours);
    const rate = scale * (usual[hour] ?? 0) + excess;
    const until = rate > 0 ? start + Math.max(0, left) / rate : Number.POSITIVE_INFINITY;
    if (until < hour + 1) return nowMs + (until - hours) * HOUR_MS;
    left -= rate * (hour + 1 - start);
  }
  return null;
}

/** Calls per hour: `scale` times the usual ones of that hour, and `excess` more. */
function paceOf(usual: readonly number[], today: readonly number[], hours: number) {
  // Part of a usual hour is added to both sides, so that a few calls in the morning do not count as a pace.
  const some = (PRIOR_HOURS * usual.reduce((sum, calls) => sum + calls, 0)) / HOURS;
  let [ordinary, expected, excess, span] = [some, some, 0, 0];
  for (let hour = 0; hour < hours; hour++) {
    const length = Math.min(1, hours - hour);
    const age = hours - hour - length / 2;
    const [weight, late] = [2 ** -(age / HALF_LIFE_HOURS), 2 ** -(age / HALF_LIFE_OF_EXCESS_HOURS)];
    const [calls, expectedCalls] = [today[hour] ?? 0, length * (usual[hour] ?? 0)];
    const isExcessive = calls > MAX_SCALE * expectedCalls + some;
    ordinary += weight * (isExcessive ? expectedCalls : calls);
    expected += weight * expectedCalls;
    excess += late * (isExcessive ? calls - expectedCalls : 0);
    span += late * length;
  }
  return { scale: expected === 0 ? 0 : ordinary / expected, excess: span === 0 ? 0 : excess / span };
}
