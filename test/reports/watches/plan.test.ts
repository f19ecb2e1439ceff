/** Which days of a watched report are read, and what that costs. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoDay } from '../../../src/reports/query/days.js';
import { isOver, planWatch, priceOf, type WatchedDay } from '../../../src/reports/watches/plan.js';
import { runs } from '../../support/runs.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';

const RULES = {
  restatementDays: 5,
  currentMs: 5 * MINUTE,
  restatingMs: HOUR,
  finalMs: 30 * DAY,
  emptyMs: HOUR,
  emptyFinalMs: HOUR,
  undeclaredMs: HOUR,
  staleWhileRevalidateMs: HOUR,
  staleIfErrorMs: DAY,
};
const PLAN = { mergeGapDays: 7, maxDaysPerCall: 92 };
const TODAY = 20_000;
const NOON = TODAY * DAY + DAY / 2;
const LAST_30 = { from: TODAY - 30, to: TODAY - 1, maxAgeDays: 45, today: TODAY, rules: RULES, plan: PLAN };

const fetched = (day: number, atMs: number): WatchedDay => ({
  fetchedAt: atMs,
  fetchedOn: Math.floor(atMs / DAY),
  lastDay: isoDay(day),
  answerRows: 1,
});
/** All days fetched at one time. */
const allAt = (atMs: number) => (day: number) => fetched(day, atMs);

describe('a watch', () => {
  it('reads days that were never fetched, in one call', () => {
    expect(planWatch({ ...LAST_30, nowMs: NOON }, () => undefined)).toEqual({
      ranges: [{ from: TODAY - 30, to: TODAY - 1 }],
      nextMs: NOON,
    });
  });

  it('reads days that are not final as often as their age asks for, and no final one with them', () => {
    const plan = (afterMs: number) => planWatch({ ...LAST_30, nowMs: NOON + afterMs }, allAt(NOON));
    expect(plan(HOUR - 1)).toEqual({ ranges: [], nextMs: NOON + HOUR });
    expect(plan(HOUR).ranges).toEqual([{ from: TODAY - 5, to: TODAY - 1 }]);
  });

  it('reads today with nearby days of which half of the interval has passed', () => {
    const toToday = { ...LAST_30, to: TODAY };
    const plan = (afterMs: number) =>
      planWatch({ ...toToday, nowMs: NOON }, (day) =>
        fetched(day, NOON - (day === TODAY ? 5 * MINUTE : afterMs)),
      );
    expect(plan(29 * MINUTE).ranges).toEqual([{ from: TODAY, to: TODAY }]);
    expect(plan(30 * MINUTE).ranges).toEqual([{ from: TODAY - 5, to: TODAY }]);
  });

  it('reads all final days in one call once one of them was read a week ago', () => {
    const known = (day: number) => {
      if (day >= TODAY - 5) return fetched(day, NOON);
      return fetched(day, NOON - (day === TODAY - 20 ? 7 * DAY : HOUR));
    };
    expect(planWatch({ ...LAST_30, nowMs: NOON - 1 }, known).ranges).toEqual([]);
    expect(planWatch({ ...LAST_30, nowMs: NOON }, known).ranges).toEqual([
      { from: TODAY - 30, to: TODAY - 6 },
    ]);
  });

  it('reads no day that is older than its greatest age, in the future, or beyond what the platform has', () => {
    const ranges = (changes: object) =>
      planWatch({ ...LAST_30, ...changes, nowMs: NOON }, () => undefined).ranges;
    expect(ranges({ maxAgeDays: 10 })).toEqual([{ from: TODAY - 10, to: TODAY - 1 }]);
    expect(ranges({ to: TODAY + 20 })).toEqual([{ from: TODAY - 30, to: TODAY }]);
    expect(ranges({ rules: { ...RULES, edgeDays: 8 } })).toEqual([{ from: TODAY - 7, to: TODAY - 1 }]);
    expect(ranges({ from: TODAY - 90, to: TODAY - 46 })).toEqual([]);
    expect(ranges({ from: TODAY + 1, to: TODAY + 9 })).toEqual([]);
  });

  it('reads a day again that a purge has made stale, or that was fetched in the future', () => {
    const expired = planWatch({ ...LAST_30, nowMs: NOON }, (day) => ({
      ...fetched(day, NOON),
      ...(day === TODAY - 3 ? { expiredAtMs: NOON } : {}),
    }));
    expect(expired.ranges).toEqual([{ from: TODAY - 3, to: TODAY - 3 }]);
    expect(planWatch({ ...LAST_30, nowMs: NOON - DAY }, allAt(NOON)).ranges).toHaveLength(1);
  });

  it('divides what is longer than a call may be', () => {
    const plan = { ...PLAN, maxDaysPerCall: 20 };
    expect(planWatch({ ...LAST_30, plan, nowMs: NOON }, () => undefined).ranges).toHaveLength(2);
  });

  it('is over the day after its last day has reached the greatest age', () => {
    expect(isOver({ to: TODAY - 45, today: TODAY, maxAgeDays: 45 })).toBe(false);
    expect(isOver({ to: TODAY - 46, today: TODAY, maxAgeDays: 45 })).toBe(true);
  });
});

describe('the price of a watch', () => {
  it('is the pace of the most frequent day, one as a day begins, and a call a week for final days', () => {
    expect(priceOf(LAST_30)).toEqual({ callsPerDay: 25.15, days: 30 });
    expect(priceOf({ ...LAST_30, to: TODAY })).toEqual({ callsPerDay: 289.15, days: 31 });
    expect(priceOf({ ...LAST_30, to: TODAY - 10 })).toEqual({ callsPerDay: 0.15, days: 21 });
    expect(priceOf({ ...LAST_30, to: TODAY - 46, from: TODAY - 60 })).toEqual({ callsPerDay: 0, days: 0 });
  });

  it('is not exceeded by more than a call a day, and not much too high', () => {
    fc.assert(
      fc.property(
        fc.record({
          length: fc.integer({ min: 1, max: 40 }),
          endsAgo: fc.constantFrom(0, 1, 4),
          maxAgeDays: fc.integer({ min: 1, max: 90 }),
          restatementDays: fc.integer({ min: 0, max: 10 }),
          currentMs: fc.integer({ min: 10, max: 120 }).map((minutes) => minutes * MINUTE),
          /** Older days are not read more often than today. */
          slower: fc.double({ min: 1, max: 50, noNaN: true }),
          settled: fc.option(
            fc.record({ fromAge: fc.integer({ min: 1, max: 6 }), times: fc.integer({ min: 1, max: 24 }) }),
          ),
          maxDaysPerCall: fc.constantFrom(3, 7, 92),
          mergeGapDays: fc.constantFrom(0, 7),
        }),
        ({ length, endsAgo, maxAgeDays, restatementDays, currentMs, slower, settled, ...plan }) => {
          const restatingMs = Math.round(currentMs * slower);
          const rules = {
            ...RULES,
            ...{ restatementDays, currentMs, restatingMs },
            ...(settled && { settled: { fromAge: settled.fromAge, ms: settled.times * restatingMs } }),
          };
          const watchedOn = (today: number) => {
            const to = today - endsAgo;
            return { from: to - length + 1, to, today, maxAgeDays, rules, plan };
          };
          const calls = callsOfAWeek(watchedOn);
          const { callsPerDay } = priceOf(watchedOn(TODAY));
          // Calls where the week begins and ends.
          const atOnce = Math.ceil(length / plan.maxDaysPerCall);
          expect(calls).toBeLessThanOrEqual(7 * (callsPerDay + 1) + atOnce);
          expect(calls).toBeGreaterThanOrEqual(
            plan.maxDaysPerCall === 92 ? 7 * 0.9 * (callsPerDay - 1) - 1 : 0,
          );
        },
      ),
      runs(20, 200),
    );
  });
});

/** A planner whose calls are answered at once, for two weeks; those of the second one count. */
function callsOfAWeek(watchedOn: (today: number) => Omit<Parameters<typeof planWatch>[0], 'nowMs'>): number {
  const known = new Map<number, WatchedDay>();
  const [fromMs, endMs] = [NOON - 7 * DAY, NOON + 7 * DAY];
  let calls = 0;
  for (let nowMs = fromMs; nowMs < endMs; ) {
    const today = Math.floor(nowMs / DAY);
    const { ranges, nextMs } = planWatch({ ...watchedOn(today), nowMs }, (day) => known.get(day));
    if (nowMs >= NOON) calls += ranges.length;
    for (const { from, to } of ranges)
      for (let day = from; day <= to; day++) known.set(day, fetched(day, nowMs));
    if (ranges.length === 0) nowMs = Math.min(nextMs ?? endMs, (today + 1) * DAY);
  }
  return calls;
}
