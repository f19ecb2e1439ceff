import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DayRange } from '../../../src/reports/cache/plan.js';
import {
  independentRange,
  isNewTrial,
  isProbationOver,
  LONG_TRIAL_DAYS,
  NEEDED_TRIALS,
  piecesToTry,
  rangeToTry,
  type Trial,
} from '../../../src/reports/learn/state.js';
import { isoDay } from '../../../src/reports/query/days.js';

const BASE = 20_000;
const stretch = fc
  .tuple(fc.integer({ min: BASE, max: BASE + 60 }), fc.nat(100))
  .map(([from, more]): DayRange => ({ from, to: from + more }));
const trialOf = ({ from, to }: DayRange): Trial => ({
  from: isoDay(from),
  to: isoDay(to),
  days: to - from + 1,
});

describe('the ranges that are tried', () => {
  it('bring a kind through in five answers, whatever ranges are asked for', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(stretch, { minLength: NEEDED_TRIALS, maxLength: NEEDED_TRIALS }),
          // A dashboard: one length, day by day or on one day.
          fc.tuple(stretch, fc.nat(1)).map(([{ from, to }, step]) =>
            Array.from({ length: NEEDED_TRIALS }, (_, at) => ({
              from: from + at * step,
              to: to + at * step,
            })),
          ),
        ),
        (answered) => {
          const trials: Trial[] = [];
          for (const one of answered) {
            expect(isProbationOver(trials)).toBe(false);
            const range = rangeToTry(trials, one);
            expect(range.to).toBeLessThanOrEqual(one.to);
            const trial = trialOf(range);
            expect(isNewTrial(trials, trial)).toBe(true);
            if (isNewTrial(trials, trialOf(one)) && trials.length < NEEDED_TRIALS - 1)
              expect(range).toEqual(one);
            trials.push(trial);
          }
          expect(isProbationOver(trials)).toBe(true);
          expect(new Set(trials.map(({ days }) => days)).size).toBe(NEEDED_TRIALS);
          expect(new Set(trials.map(({ to }) => to)).size).toBe(NEEDED_TRIALS);
          expect(trials.some(({ days }) => days >= LONG_TRIAL_DAYS)).toBe(true);
        },
      ),
    );
    expect([NEEDED_TRIALS, LONG_TRIAL_DAYS]).toEqual([5, 14]);
  });
});

describe('the entries of a tried range', () => {
  it('hold every day that is missing, are few, and never the range itself', () => {
    fc.assert(
      fc.property(
        stretch.chain((range) =>
          fc.tuple(
            fc.constant(range),
            fc.subarray(Array.from({ length: range.to - range.from + 1 }, (_, at) => range.from + at)),
          ),
        ),
        ([range, missing]) => {
          const entries = piecesToTry(range, missing);
          for (const day of missing) {
            expect(entries.some(({ from, to }) => from <= day && day <= to)).toBe(true);
          }
          expect(entries.length).toBeGreaterThanOrEqual(1);
          expect(entries.length).toBeLessThanOrEqual(2);
          for (const entry of entries) {
            expect(entry.from).toBeLessThanOrEqual(entry.to);
            expect(entry).not.toEqual(range);
          }
        },
      ),
    );
  });
});

describe('the range of a reference', () => {
  it('holds the disputed days, and begins and ends where no answer does nor a disputed day lies', () => {
    const days = fc.uniqueArray(fc.integer({ min: BASE, max: BASE + 30 }), { minLength: 1, maxLength: 5 });
    const ends = fc.array(fc.integer({ min: BASE - 5, max: BASE + 40 }), { maxLength: 12 });
    fc.assert(
      fc.property(days, ends, ends, (disputed, from, to) => {
        const range = independentRange(disputed, { from: new Set(from), to: new Set(to) }, BASE + 100);
        expect(range).not.toBeNull();
        if (range === null) return;
        expect(range.from).toBeLessThan(Math.min(...disputed));
        expect(range.to).toBeGreaterThan(Math.max(...disputed));
        expect([from.includes(range.from), to.includes(range.to)]).toEqual([false, false]);
      }),
    );
  });

  it('does not reach into days to come', () => {
    const to = new Set([BASE + 1, BASE + 2]);
    expect(independentRange([BASE], { from: new Set(), to }, BASE + 2)).toBeNull();
    expect(independentRange([BASE], { from: new Set(), to }, BASE + 3)).toEqual({
      from: BASE - 1,
      to: BASE + 3,
    });
  });
});
