/** Stage: which calls bring which pieces. */
import { dayNumber, isoDay } from '../report/days.js';
import { type FreshnessRules, freshForMs, isFinal } from '../report/freshness.js';
import type { Part } from '../report/part.js';
import type { Range } from '../report/period.js';
import { type PlanRules, planCalls, stretchCalls } from '../report/plan.js';
import type { Unit } from './look-up.js';

/** One call, and the wanted pieces it would bring. */
export interface Trip {
  readonly units: readonly Unit[];
  readonly range: Range;
}

export interface TripsAsk {
  readonly mode: 'days' | 'whole';
  /** All pieces of the report. */
  readonly units: readonly Unit[];
  /** Those to be brought. */
  readonly wanted: readonly Unit[];
  /** What is known of pieces, by key. */
  readonly known: ReadonlyMap<string, Part>;
  readonly nowMs: number;
  readonly plan: PlanRules;
  readonly rules: FreshnessRules;
  /** One call for all pieces, however few are wanted: it is held against what is known. */
  readonly entire?: boolean;
}

/**
 * A day that may still change rides along on a call that passes by once this much of its freshness is gone. The
 * call costs no more for it, and a call of its own, soon, is saved (`bench/economics.mjs` shows how many).
 */
const RIDES_FROM = 0.5;

export function planTrips({ mode, units, wanted, known, nowMs, plan, rules, entire }: TripsAsk): Trip[] {
  if (mode === 'whole') return wanted.map((unit) => ({ units: [unit], range: unit }));
  const [first, last] = [units[0], units.at(-1)];
  if (entire && wanted.length > 0 && first && last)
    return [{ units: wanted, range: { from: first.from, to: last.to } }];
  const days = wanted.map(numberOf).sort((a, b) => a - b);
  const riders = units.filter(({ key }) => {
    const header = known.get(key)?.header;
    if (header === undefined || isFinal(header, rules)) return false;
    return nowMs - header.fetchedAt >= RIDES_FROM * freshForMs(header, rules);
  });
  return stretchCalls(planCalls(days, plan), riders.map(numberOf), plan).map(({ from, to }) => ({
    range: { from: isoDay(from), to: isoDay(to) },
    units: wanted.filter((unit) => numberOf(unit) >= from && numberOf(unit) <= to),
  }));
}

function numberOf({ from }: Unit): number {
  return dayNumber(from as string) as number;
}
