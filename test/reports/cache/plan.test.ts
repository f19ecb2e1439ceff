import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayRange, planCalls, stretchCalls } from '../../../src/reports/cache/plan.js';

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

  it.each<[string, number[], DayRange[]]>([
    ['nothing', [], []],
    ['one day', [5], [{ from: 5, to: 5 }]],
    ['a gap of three', [1, 5], [{ from: 1, to: 5 }]],
    [
      'a gap of four',
      [1, 6],
      [
        { from: 6, to: 6 },
        { from: 1, to: 1 },
      ],
    ],
    ['ten days in a row', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [{ from: 1, to: 10 }]],
    [
      'eleven days in a row',
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
      [
        { from: 11, to: 11 },
        { from: 1, to: 10 },
      ],
    ],
  ])('plans %s with gaps of three and calls of ten', (_what, needed, expected) => {
    expect(planCalls(needed, { mergeGapDays: 3, maxDaysPerCall: 10 })).toEqual(expected);
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
      { numRuns: 1000 },
    );
  });

  it('takes every prefetched that lies within reach of one call', () => {
    const plan = { mergeGapDays: 2, maxDaysPerCall: 30 };
    expect(stretchCalls([{ from: 10, to: 10 }], [4, 7, 13, 14, 17], plan)).toEqual([{ from: 4, to: 17 }]);
    expect(stretchCalls([{ from: 10, to: 10 }], [6, 14], plan)).toEqual([{ from: 10, to: 10 }]);
  });

  it('leaves calls as they are without prefetched', () => {
    const calls = [
      { from: 20, to: 22 },
      { from: 1, to: 3 },
    ];
    expect(stretchCalls(calls, [], { mergeGapDays: 7, maxDaysPerCall: 92 })).toEqual(calls);
  });

  it('gives a prefetched between two calls to one of them alone', () => {
    const calls = [
      { from: 20, to: 20 },
      { from: 5, to: 5 },
    ];
    expect(stretchCalls(calls, [10, 12], { mergeGapDays: 7, maxDaysPerCall: 92 })).toEqual([
      { from: 10, to: 20 },
      { from: 5, to: 5 },
    ]);
  });
});
