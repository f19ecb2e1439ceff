/** Which calls bring the days that are wanted. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DayRange,
  type PlanInput,
  planCalls,
  planFetches,
  stretchCalls,
} from '../../../src/reports/cache/plan.js';
import { dayNumber, daysBetween } from '../../../src/reports/query/days.js';
import { dayRef } from '../../../src/reports/question.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { FETCHED_AT, factsOf, RULES, rowsEntry } from '../rows/entries.js';

const rules = fc.record({
  mergeGapDays: fc.integer({ min: 0, max: 10 }),
  maxDaysPerCall: fc.integer({ min: 1, max: 40 }),
});
/** Days close together, so that gaps below, at and above the limit all come up. */
const someDays = fc
  .uniqueArray(fc.integer({ min: 20_000, max: 20_100 }), { maxLength: 60 })
  .map((days) => days.sort((a, b) => a - b));

const length = ({ from, to }: DayRange) => to - from + 1;
const daysOf = ({ from, to }: DayRange) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('planCalls', () => {
  it('covers every needed day exactly once, newest call first, none longer than allowed', () => {
    fc.assert(
      fc.property(someDays, rules, (needed, plan) => {
        const calls = planCalls(needed, plan);
        const covered = calls.flatMap(daysOf);
        expect(new Set(covered).size).toBe(covered.length);
        expect(needed.filter((day) => !covered.includes(day))).toEqual([]);
        expect(calls.every((call) => length(call) >= 1 && length(call) <= plan.maxDaysPerCall)).toBe(true);
        expect(calls).toEqual(calls.toSorted((a, b) => b.from - a.from));
      }),
    );
  });

  it('begins and ends each call with a needed day, and spans no gap longer than allowed', () => {
    fc.assert(
      fc.property(someDays, rules, (needed, plan) => {
        for (const call of planCalls(needed, plan)) {
          const inside = needed.filter((day) => day >= call.from && day <= call.to);
          expect([inside.at(0), inside.at(-1)]).toEqual([call.from, call.to]);
          const gaps = inside.slice(1).map((day, index) => day - (inside[index] as number) - 1);
          expect(gaps.every((gap) => gap <= plan.mergeGapDays)).toBe(true);
        }
      }),
    );
  });

  it('makes no call that the call before could have taken along', () => {
    fc.assert(
      fc.property(someDays, rules, (needed, plan) => {
        const calls = planCalls(needed, plan).toReversed();
        for (const [index, later] of calls.entries()) {
          const earlier = calls[index - 1];
          if (earlier === undefined) continue;
          const near = later.from - earlier.to - 1 <= plan.mergeGapDays;
          expect(near && later.from - earlier.from + 1 <= plan.maxDaysPerCall).toBe(false);
        }
      }),
    );
  });
});

describe('stretchCalls', () => {
  it('only widens calls, to days that ride along, within their length, and never over each other', () => {
    fc.assert(
      fc.property(someDays, someDays, rules, (needed, prefetched, plan) => {
        const calls = planCalls(needed, plan);
        const stretched = stretchCalls(calls, prefetched, plan);
        expect(stretched).toHaveLength(calls.length);
        for (const [index, wide] of stretched.entries()) {
          const call = calls[index] as DayRange;
          expect(wide.from <= call.from && wide.to >= call.to).toBe(true);
          expect(length(wide)).toBeLessThanOrEqual(plan.maxDaysPerCall);
          if (wide.from < call.from) expect(prefetched).toContain(wide.from);
          if (wide.to > call.to) expect(prefetched).toContain(wide.to);
        }
        const covered = stretched.flatMap(daysOf);
        expect(new Set(covered).size).toBe(covered.length);
      }),
      { numRuns: 200 },
    );
  });
});

const DAYS = daysBetween('2026-10-20', '2026-11-21');
const REFS = DAYS.map((date) => dayRef('series', date));
const PLAN = { mergeGapDays: 2, maxDaysPerCall: 10 };

/** A day as it was fetched some time before. */
function day(date: string, ageMs: number): [string, Entry<RowsHeader>] {
  const facts = factsOf({ lastDay: date, fetchedAt: FETCHED_AT - ageMs, fetchStartedAt: FETCHED_AT - ageMs });
  return [dayRef('series', date).id, rowsEntry([{ date }], facts)];
}

const fetches = (wanted: readonly string[], known: PlanInput['known'] = new Map(), plan = PLAN) =>
  planFetches({
    mode: 'days',
    refs: REFS,
    wanted: REFS.filter(({ from }) => wanted.includes(from as string)),
    known,
    nowMs: FETCHED_AT,
    plan,
    rules: RULES,
  });
const rangesOf = (list: ReturnType<typeof fetches>) => list.map(({ range: { from, to } }) => [from, to]);

describe('planFetches', () => {
  it('brings every wanted day by exactly one call, whatever rides along', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom(...DAYS)),
        fc.uniqueArray(fc.tuple(fc.constantFrom(...DAYS), fc.integer({ min: 0, max: 7_200_000 })), {
          selector: ([date]) => date,
        }),
        fc.record({
          mergeGapDays: fc.integer({ min: 0, max: 8 }),
          maxDaysPerCall: fc.integer({ min: 1, max: 30 }),
        }),
        (wanted, held, plan) => {
          const list = fetches(wanted, new Map(held.map(([date, ageMs]) => day(date, ageMs))), plan);
          const brought = list.flatMap(({ refs }) => refs.map(({ from }) => from as string));
          expect(brought.sort()).toEqual(wanted.toSorted());
          const fetched = list.flatMap(({ range }) => daysBetween(range.from as string, range.to as string));
          expect(new Set(fetched).size).toBe(fetched.length);
          for (const { refs, range } of list) {
            const [from, to] = [range.from as string, range.to as string];
            expect(refs.every((ref) => (ref.from as string) >= from && (ref.to as string) <= to)).toBe(true);
            expect((dayNumber(to) as number) - (dayNumber(from) as number)).toBeLessThan(plan.maxDaysPerCall);
          }
        },
      ),
    );
  });

  it('asks for a report that is not split as it is', () => {
    const [ref] = REFS as [PlanInput['refs'][number]];
    const list = planFetches({
      mode: 'whole',
      refs: [ref],
      wanted: [ref],
      known: new Map(),
      nowMs: FETCHED_AT,
      plan: { mergeGapDays: 0, maxDaysPerCall: 1 },
      rules: RULES,
    });
    expect(list.map(({ range, refs }) => [range.from, range.to, refs])).toEqual([[ref.from, ref.to, [ref]]]);
  });

  it('takes along a changing day that has lost half of its freshness, and not before', () => {
    const half = RULES.restatingMs / 2;
    expect(rangesOf(fetches(['2026-11-20'], new Map([day('2026-11-19', half)])))).toEqual([
      ['2026-11-19', '2026-11-20'],
    ]);
    expect(rangesOf(fetches(['2026-11-20'], new Map([day('2026-11-19', half - 1)])))).toEqual([
      ['2026-11-20', '2026-11-20'],
    ]);
  });

  it('takes along no final day, no unknown day, and none out of reach', () => {
    const old = 20 * 86_400_000;
    expect(rangesOf(fetches(['2026-11-17'], new Map([day('2026-11-15', old)])))).toEqual([
      ['2026-11-17', '2026-11-17'],
    ]);
    expect(rangesOf(fetches(['2026-11-17']))).toEqual([['2026-11-17', '2026-11-17']]);
    const known = new Map([day('2026-11-20', RULES.restatingMs), day('2026-11-21', RULES.currentMs)]);
    expect(rangesOf(fetches(['2026-11-16'], known))).toEqual([['2026-11-16', '2026-11-16']]);
    expect(rangesOf(fetches(['2026-11-17'], known))).toEqual([['2026-11-17', '2026-11-21']]);
  });
});
