/** Finality, learned: what is seen in any order, by any replica, comes to the same, and never ends before a change. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countAges,
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  forget,
  includes,
  merge,
  NO_EVIDENCE,
  type Observation,
} from '../../../src/reports/learn/evidence.js';
import { windowOf } from '../../../src/reports/learn/windows.js';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import { isFinalDay } from '../../../src/reports/rows/freshness.js';

const RULES = { restatementDays: 5, maxDays: 45 };
const FIRST = dayNumber('2026-01-01') as number;

const observation = fc
  .record({
    day: fc.integer({ min: 0, max: 80 }),
    first: fc.integer({ min: 0, max: 60 }),
    known: fc.integer({ min: 0, max: 20 }),
    later: fc.integer({ min: 0, max: 60 }),
    changed: fc.boolean(),
  })
  .map(({ day, first, known, later, changed }): Observation => {
    const ages = { ageFirst: first, ageThen: first + known, ageNow: first + known + later };
    return { date: isoDay(FIRST + day), ...ages, changed, at: (FIRST + day + ages.ageNow) * 86_400_000 };
  });
const observations = fc.array(observation, { maxLength: 60 });

const fold = (all: readonly Observation[], from: Evidence = NO_EVIDENCE) =>
  all.reduce((sum, one) => merge(sum, evidenceOf(one)), from);
const textOf = (all: readonly Observation[]) => encodeEvidence(fold(all));

/** Dates that were looked at on one age and again on another. */
function looks(count: number, ageThen: number, ageNow: number, changed = false, from = 0): Observation[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ date: isoDay(FIRST + from + at), ageFirst: ageThen, ageThen, ageNow, changed },
    at: (FIRST + from + at + ageNow) * 86_400_000,
  }));
}

describe('what is seen of days', () => {
  it('comes to the same in any order, by any number of replicas, told once or twice', () => {
    fc.assert(
      fc.property(observations, fc.integer(), fc.integer({ min: 1, max: 3 }), (all, seed, replicas) => {
        const shuffled = all.toSorted((a, b) => ((a.at ^ seed) % 97) - ((b.at ^ seed) % 97));
        expect(textOf(shuffled)).toBe(textOf(all));
        const parts = Array.from({ length: replicas }, (_, own) =>
          fold(all.filter((_one, at) => at % replicas === own)),
        );
        expect(encodeEvidence(parts.reduceRight((sum, part) => merge(part, sum), NO_EVIDENCE))).toBe(
          textOf(all),
        );
        expect(textOf([...all, ...all])).toBe(textOf(all));
        expect(includes(fold(all), fold(all.slice(1)))).toBe(true);
        expect(decodeEvidence(textOf(all))).toEqual(fold(all));
      }),
    );
  });

  it('counts each date once an age', () => {
    const all = [...looks(3, 4, 6), ...looks(3, 4, 9), ...looks(1, 4, 9, true)];
    expect(countAges(fold(all))).toEqual([{ ageDays: 4, n: 3, changed: 1 }]);
  });

  it('is nothing where a day was not over, or was seen again on the same day and had not changed', () => {
    expect(fold([...looks(3, 0, 2, true), ...looks(3, 4, 4)]).dates.size).toBe(0);
    expect(countAges(fold(looks(1, 4, 4, true)))).toEqual([{ ageDays: 4, n: 1, changed: 1 }]);
  });

  it('is what another release wrote only where it can be read', () => {
    for (const text of ['', '{', '[]', '{"form":2}', '{"form":1,"since":1,"forgotten":[1],"dates":[]}'])
      expect(decodeEvidence(text)).toBeNull();
  });
});

describe('finality', () => {
  it('never ends before a change that was observed, nor before report.restatementDays', () => {
    fc.assert(
      fc.property(observations, fc.integer({ min: 0, max: 2000 }), (all, laterDays) => {
        const today = FIRST + 80 + laterDays;
        const { days } = windowOf(forget(fold(all), today), RULES, today);
        expect(days).toBeGreaterThanOrEqual(RULES.restatementDays);
        expect(days).toBeLessThanOrEqual(RULES.maxDays);
        for (const { changed, ageThen } of all)
          if (changed && ageThen > 0 && ageThen < RULES.maxDays)
            expect(isFinalDay(today - ageThen, today, days)).toBe(false);
      }),
    );
  });

  it('widens at once to a day more than a change was seen after, at most to finality.maxDays', () => {
    const after = (age: number) => windowOf(fold(looks(1, age, age + 1, true)), RULES, FIRST + 100).days;
    expect([1, 4, 5, 6, 28, 44, 45, 80].map(after)).toEqual([5, 5, 6, 7, 29, 45, 45, 45]);
  });

  it('goes back only after 300 dates that were seen again at maxDays as they had been, and after two weeks', () => {
    const late = looks(1, 9, 10, true);
    const lateOn = FIRST + 10;
    const calm = (count: number, ageThen = 5, ageNow = 45) =>
      fold([...late, ...looks(count, ageThen, ageNow, false, 1)]);
    const days = (evidence: Evidence, today = lateOn + 400) => windowOf(evidence, RULES, today).days;
    expect(days(calm(300))).toBe(5);
    expect(days(calm(299))).toBe(10);
    expect(days(calm(300, 5, 44))).toBe(10);
    // First seen when they were older than what is to be proven.
    expect(days(calm(300, 7))).toBe(10);
    expect(days(calm(300), lateOn + 13)).toBe(10);
    expect(days(merge(calm(300), fold(looks(1, 12, 390, true, 400))), FIRST + 800)).toBe(13);
  });

  it('is settled from the age on at which no day was seen to change, once enough dates were seen', () => {
    const settledFrom = (all: readonly Observation[]) => windowOf(fold(all), RULES, FIRST + 100).settledFrom;
    const seen = [1, 2, 3, 4].flatMap((age) => looks(30, age, age + 1));
    expect(settledFrom(seen)).toBe(1);
    expect(settledFrom([...seen, ...looks(1, 2, 3, true)])).toBe(3);
    expect(settledFrom([1, 2, 3].flatMap((age) => looks(29, age, age + 1)))).toBeNull();
    expect(settledFrom([...seen, ...looks(1, 20, 21, true)])).toBeNull();
  });

  it('remembers how late dates changed that it has forgotten', () => {
    const evidence = forget(fold(looks(1, 20, 21, true)), FIRST + 1000);
    expect(evidence.dates.size).toBe(0);
    expect(windowOf(evidence, RULES, FIRST + 1000).days).toBe(21);
  });
});
