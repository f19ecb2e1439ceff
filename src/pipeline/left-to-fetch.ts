/** What a planned fetch still asks for, once it is known what others brought or have under way. Pure. */
import { isoDay } from '../report/days.js';
import type { Range } from '../report/period.js';
import { type DayRange, type PlanRules, planCalls } from '../report/plan.js';
import { numberOf, type PlannedFetch } from './plan-fetches.js';
import type { EntryRef } from './question.js';

export interface LeftInput {
  readonly planned: PlannedFetch;
  /** Entries that are locked, and that nobody brought. */
  readonly left: readonly EntryRef[];
  /** What others are asking for: a call must not reach across it and bring it a second time. */
  readonly underWay: readonly EntryRef[];
  readonly mode: 'days' | 'whole';
  readonly plan: PlanRules;
}

/** @returns one call, null where none is needed, and those of `left` that it brings; the others are left to the next */
export function leftToFetch({ planned, left, underWay, mode, plan }: LeftInput): {
  readonly range: Range | null;
  readonly refs: readonly EntryRef[];
} {
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
