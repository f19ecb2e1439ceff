/** Finality and truth, measured: what is seen comes to the same in any order, by any replica. */

import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DayObservation } from '../../../src/reports/days/note-fetch.js';
import type { Revision } from '../../../src/reports/history/revision.js';
import {
  countAges,
  countVerdicts,
  type DayVerdict,
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  evidenceOfVerdicts,
  forget,
  includes,
  matchesDigest,
  merge,
  NO_EVIDENCE,
  type Observation,
  VERDICTS,
  verdictOf,
} from '../../../src/reports/learn/evidence.js';
import {
  bucketOf,
  createExpectedChanges,
  expectedOf,
  relativeChange,
} from '../../../src/reports/learn/expected-changes.js';
import { percentAtMost, upperBound } from '../../../src/reports/learn/scope.js';
import { windowOf } from '../../../src/reports/learn/windows.js';
import type { Report } from '../../../src/reports/query/canonicalize.js';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../../../src/reports/rows/entry.js';
import { isFinalDay } from '../../../src/reports/rows/freshness.js';
import { sortedHashOf } from '../../../src/reports/rows/select-rows.js';
import type { Counters } from '../../../src/store/port.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock } from '../../support/test-clock.js';
import { daysOn } from '../history/on-disk.js';

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

  it('counts each date once an age, and none that was not over, or was seen twice a day and had not changed', () => {
    const all = [...looks(3, 4, 6), ...looks(3, 4, 9), ...looks(1, 4, 9, true)];
    expect(countAges(fold(all))).toEqual([{ ageDays: 4, n: 3, changed: 1 }]);
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
    // Of dates that it has forgotten it remembers how late they changed.
    const forgotten = forget(fold(looks(1, 20, 21, true)), FIRST + 1000);
    expect([forgotten.dates.size, windowOf(forgotten, RULES, FIRST + 1000).days]).toEqual([0, 21]);
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
});

describe('truth', () => {
  const DAY_MS = 86_400_000;

  describe('a day that is asked for again', () => {
    const date = '2026-11-01';
    const at = (age: number) => ((dayNumber(date) as number) + age) * DAY_MS + 12 * 3_600_000;
    /** First seen at one age and last at another, before it is seen once more. */
    const sight = (
      first: number,
      last: number,
      now: number,
      seen: object,
      known: object = {},
    ): DayObservation => {
      const facts = { digest: 'old', schema: 's', generation: 'g', rowCount: 3 };
      const before = { ...facts, ageDays: first, knownFrom: at(first), confirmedUntil: at(last), ...known };
      return {
        date,
        before: [before as unknown as Revision],
        seen: { ...facts, ageDays: now, unconfirmed: false, ...seen } as unknown as DayObservation['seen'],
      };
    };
    const verdict = (one: DayObservation, isSplit = true) =>
      verdictOf(one, { timezone: 'UTC', isSplit })?.verdict ?? null;
    const OTHER = { digest: 'new' };

    it('is restated only where what was known had been seen twice, and numbers changed, not columns', () => {
      expect(verdict(sight(2, 2, 5, {}))).toBe('same');
      expect(verdict(sight(2, 2, 5, OTHER))).toBe('differs_since');
      expect(verdict(sight(2, 4, 5, OTHER))).toBe('restated');
      expect(verdict(sight(2, 4, 5, { ...OTHER, schema: 't' }))).toBe('differs_since');
      // Rows that are gone are a change of numbers.
      expect(verdict(sight(2, 4, 5, { ...OTHER, schema: 't', rowCount: 0 }))).toBe('restated');
    });

    it('is never restated where it may depend on the range asked for', () => {
      expect(verdict(sight(2, 4, 5, OTHER), false)).toBe('differs_since');
    });

    it('tells nothing where it was not over, was known under another proof, or is empty unconfirmed', () => {
      expect(verdict(sight(0, 0, 5, OTHER))).toBeNull();
      expect(verdict(sight(0, 1, 5, OTHER))).toBe('restated');
      expect(verdict(sight(2, 4, 5, { ...OTHER, generation: 'h' }))).toBeNull();
      expect(verdict(sight(2, 4, 5, { ...OTHER, unconfirmed: true }))).toBeNull();
      expect(verdict(sight(2, 4, 5, OTHER, { unconfirmed: true }))).toBeNull();
      expect(verdict(sight(2, 4, 5, OTHER, { void: 'cut' }))).toBeNull();
      expect(verdict({ ...sight(2, 4, 5, OTHER), before: [] })).toBeNull();
    });
  });

  it('a kept day whose rows are others than those it is named by is not what it says', () => {
    const rows = ['{"date":"2026-11-01","clicks":1}', '{"date":"2026-11-01","clicks":2}'];
    const day = (texts: readonly string[], named: readonly string[] = texts) =>
      ({
        header: { rowCount: texts.length, splitFrom: { sortedHash: sortedHashOf(named) } },
        body: Buffer.from(texts.join(ROW_SEPARATOR)),
      }) as unknown as Entry<RowsHeader>;
    expect(matchesDigest(day(rows))).toBe(true);
    expect(matchesDigest(day(rows.toReversed(), rows))).toBe(true);
    expect(matchesDigest(day([]))).toBe(true);
    expect(matchesDigest(day(rows, rows.slice(1)))).toBe(false);
    expect(matchesDigest(day([], rows))).toBe(false);
  });

  const look = fc
    .record({
      day: fc.integer({ min: 0, max: 40 }),
      ageDays: fc.integer({ min: -2, max: 120 }),
      verdict: fc.constantFrom(...VERDICTS),
    })
    .map(({ day, ...rest }): DayVerdict => ({ date: isoDay(FIRST + day), ...rest }));
  const looks = fc.array(look, { maxLength: 80 });

  describe('what came of days', () => {
    const textOf = (all: readonly DayVerdict[]) => encodeEvidence(evidenceOfVerdicts(all, 1));

    it('comes to the same in any order, by any number of replicas, told once or twice', () => {
      fc.assert(
        fc.property(looks, fc.integer({ min: 1, max: 3 }), (all, replicas) => {
          const parts = Array.from({ length: replicas }, (_, own) =>
            evidenceOfVerdicts(
              all.filter((_one, at) => at % replicas === own),
              1,
            ),
          );
          const joined = parts.reduceRight((sum, part) => merge(part, sum), NO_EVIDENCE);
          expect(encodeEvidence(joined)).toBe(textOf(all));
          expect(textOf([...all.toReversed(), ...all])).toBe(textOf(all));
          expect(decodeEvidence(textOf(all))).toEqual(evidenceOfVerdicts(all, 1));
        }),
      );
    });

    it('counts each date once an age, by the worst, and n is all that were asked for again', () => {
      fc.assert(
        fc.property(looks, (all) => {
          for (const { ageDays, n, failed, ...counts } of countVerdicts(evidenceOfVerdicts(all, 1))) {
            const ofAge = all.filter((one) => Math.min(one.ageDays, 90) === ageDays);
            const dates = (some: readonly DayVerdict[]) => new Set(some.map(({ date }) => date)).size;
            expect(n).toBe(dates(ofAge.filter(({ verdict }) => verdict !== 'failed')));
            expect(counts.same + counts.differs_since + counts.restated + counts.wrong).toBe(n);
            expect(counts.wrong).toBe(dates(ofAge.filter(({ verdict }) => verdict === 'wrong')));
            expect(failed).toBe(dates(ofAge.filter(({ verdict }) => verdict === 'failed')));
          }
        }),
      );
    });

    it('is bounded: of dates that are long over nothing is kept', () => {
      const tally = evidenceOfVerdicts([{ date: isoDay(FIRST), ageDays: 3, verdict: 'wrong' }], 1);
      expect(forget(tally, FIRST + 200).dates.size).toBe(1);
      expect(forget(tally, FIRST + 201).dates.size).toBe(0);
    });

    it('is what another release wrote only where it can be read', () => {
      for (const text of ['', '{', '[]', '{"form":2}', '{"form":1,"since":1,"dates":[[1,"0"]]}'])
        expect(decodeEvidence(text)).toBeNull();
    });

    it('is read without verdicts, as releases wrote it that kept them apart', () => {
      const finality = decodeEvidence('{"form":1,"since":9,"forgotten":[-1,-1],"dates":[[20758,"6",3,2,3]]}');
      expect(finality?.dates.get(20758)).toMatchObject({
        again: 6n,
        until: 3,
        changedAfter: 2,
        changedAt: 3,
      });
      expect(decodeEvidence(encodeEvidence(finality ?? NO_EVIDENCE))).toEqual(finality);
    });
  });
});

const counted = (changes: readonly number[], age = 1, column = 'spent') => {
  const counts = new Map<string, number>();
  for (const change of changes) {
    const field = `${age} ${bucketOf(change)} ${column}`;
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return counts;
};

it('is of the greater value, and nought from nought to nought', () => {
  expect([relativeChange(0, 0), relativeChange(0, 5), relativeChange(5, 0), relativeChange(100, 80)]).toEqual(
    [...[0, 1, 1, 0.2]],
  );
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
      fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
      (a, b) => {
        expect(relativeChange(a, b)).toBe(relativeChange(b, a));
        expect(relativeChange(a, b)).toBeLessThanOrEqual(2);
      },
    ),
  );
});

it('says by how much at most, and never less than what was seen', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true, min: 0, max: 1 }), { minLength: 30, maxLength: 90 }),
      (changes) => {
        const { spent } = expectedOf(counted(changes), 1) ?? {};
        expect(spent?.n).toBe(changes.length);
        const within = (edge = 0) => changes.filter((change) => change <= edge).length / changes.length;
        expect(within(spent?.p50)).toBeGreaterThanOrEqual(0.5);
        expect(within(spent?.p95)).toBeGreaterThanOrEqual(0.95);
      },
    ),
  );
});

it('says nothing of fewer than 30 days, nor of another age', () => {
  const changes = Array.from({ length: 30 }, () => 0.04);
  expect(expectedOf(counted(changes.slice(1)), 1)).toBeNull();
  expect(expectedOf(counted(changes), 2)).toBeNull();
  expect(expectedOf(counted(changes, 1, 'ad spend'), 1)).toEqual({
    'ad spend': { p50: 0.04, p95: 0.04, n: 30 },
  });
});

it('is the rule of three where nothing was seen, and the exact one elsewhere', () => {
  expect(upperBound(0, 300)).toBeCloseTo(3 / 300, 3);
  expect(upperBound(0, 1)).toBeCloseTo(0.95, 6);
  // Tables of Clopper and Pearson, one-sided.
  expect(upperBound(1, 10)).toBeCloseTo(0.3942, 4);
  expect(upperBound(5, 100)).toBeCloseTo(0.1023, 4);
  expect([upperBound(0, 0), upperBound(7, 7)]).toEqual([1, 1]);
  expect(percentAtMost(0, 1_000_000)).toBeGreaterThan(0);
  expect(percentAtMost(2000, 40_000)).toBeCloseTo(5.18, 1);
});

it('counts ages up to 90 alone, and reads no rows of days first seen later', async () => {
  const clock = createTestClock();
  const counted: string[] = [];
  const counters: Counters = {
    add: async (_id, adds) => void counted.push(...adds.map(({ field }) => field)),
    read: async (groups) => groups.map(() => new Map()),
  };
  const days = daysOn((await openInMemory(clock)).days);
  const expected = createExpectedChanges({
    ...{ store: { counters }, days, policy: { timezoneOf: () => 'UTC' }, clock },
    logger: createRecordedLog().logger,
  });
  onTestFinished(async () => void (await expected.close()));
  const today = Math.floor(clock.now() / 86_400_000);
  const seenFrom = (ageDays: number) => {
    const facts = { digest: 'd', schema: 's', generation: 'g', rowCount: 1, ageDays };
    const revision = { ...facts, confirmedUntil: clock.now() } as Revision;
    const entry = { header: {}, body: Buffer.from('{"clicks":1}') } as Entry<RowsHeader>;
    return { date: isoDay(today - 92), entry, revisions: [revision] };
  };
  const report = { endpoint: 'e', split: ['date'], account: '1' } as unknown as Report;
  const [late, early] = [seenFrom(91), seenFrom(89)];
  const read = vi.spyOn(late.entry.body, 'toString');
  await expected.note(report, 'series', [late]);
  expect(read).not.toHaveBeenCalled();
  await expected.note(report, 'series', [{ ...early, revisions: [...early.revisions, ...late.revisions] }]);
  await expected.flush();
  expect(counted.sort()).toEqual(['89 0 clicks', '90 0 clicks']);
});
