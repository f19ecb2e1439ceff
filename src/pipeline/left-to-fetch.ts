/** What a planned fetch still asks for, once it is known what others brought or have under way. Pure. */
import { isoDay } from '../report/days.js';
import type { Range } from '../report/period.js';
import { type DayRange, type PlanRules, planCalls } from '../report/plan.js';
import { numberOf, type PlannedFetch } from './plan-fetches.js';
import type { Unit } from './question.js';

export interface LeftInput {
  readonly planned: PlannedFetch;
  /** Entries that are locked, and that nobody brought. */
  readonly left: readonly Unit[];
  /** What others are asking for: a call must not reach across it and bring it a second time. */
  readonly underWay: readonly Unit[];
  readonly mode: 'days' | 'whole';
  readonly plan: PlanRules;
}

/** @returns one call, null where none is needed, and those of `left` that it brings; the others are left to the next */
export function leftToFetch({ planned, left, underWay, mode, plan }: LeftInput): {
  readonly range: Range | null;
  readonly units: readonly Unit[];
} {
  const [unit] = left;
  if (unit === undefined) return { range: null, units: [] };
  if (left.length === planned.units.length) return { range: planned.range, units: left };
  if (mode === 'whole') return { range: { from: unit.from, to: unit.to }, units: left };
  const days = left.map(numberOf).sort((a, b) => a - b);
  const { from, to } = planCalls(days, plan)[0] as DayRange;
  const wall = Math.max(from - 1, ...underWay.map(numberOf).filter((day) => day < to));
  const first = days.find((day) => day > wall) as number;
  return {
    range: { from: isoDay(first), to: isoDay(to) },
    units: left.filter((one) => numberOf(one) >= first && numberOf(one) <= to),
  };
}
