/** Finality and truth, measured: each date counts once an age, whoever looks at it and however often. */

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  noteFetch,
  type Revision,
  type Revisions,
  type SeenDay,
} from '../../../src/reports/history/revision.js';
import { createDayCounts } from '../../../src/reports/learn/day-counts.js';
import {
  type Counted,
  type CountRules,
  countAges,
  type DayObservation,
  judge,
  matchesDigest,
  noteLook,
  VERDICTS,
} from '../../../src/reports/learn/evidence.js';
import {
  bucketOf,
  createExpectedChanges,
  expectedOf,
  relativeChange,
} from '../../../src/reports/learn/expected-changes.js';
import { percentAtMost } from '../../../src/reports/learn/scope.js';
import { countsIn, windowOf } from '../../../src/reports/learn/windows.js';
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
import { COUNTING } from '../rows/entries.js';

const DAY_MS = 86_400_000;
const RULES = { restatementDays: 5, maxDays: 45 };
const FIRST = dayNumber('2026-01-01') as number;

/** What the platform says of a day, by a number, when it has an age. */
interface Said {
  readonly day: number;
  readonly age: number;
  readonly spent: number;
}

/** The lines of days, and what was counted in their scope. */
function createScope(more: Partial<CountRules> = {}) {
  const lines = new Map<number, { readonly revisions: Revisions; readonly counted: Counted | undefined }>();
  const fields = new Map<string, number>();
  const raise = (name: string, to: number) => fields.set(name, Math.max(fields.get(name) ?? to, to));
  return {
    fields,
    counts: () => countsIn(fields),
    window: (today: number) => windowOf(countsIn(fields), RULES, today),
    look({ day, age, spent }: Said): void {
      const { revisions = [], counted } = lines.get(day) ?? {};
      const seen = seenAs({ day, age, spent });
      const observed = { date: isoDay(day), before: revisions, seen, credential: 'token' };
      const after = noteLook(counted, observed, { ...COUNTING, ...more, lateOn: countsIn(fields).lateOn });
      lines.set(day, { revisions: noteFetch(revisions, seen).revisions, counted: after.counted });
      const { ages, verdicts, changedAfter, on } = after.news;
      for (const [name, by] of [...ages, ...verdicts]) fields.set(name, (fields.get(name) ?? 0) + by);
      if (changedAfter > 0) raise('after', changedAfter);
      if (changedAfter >= RULES.restatementDays) raise('late', on);
    },
  };
}

let times = 0;
const seenAs = ({ day, age, spent }: Said): SeenDay => {
  times = (times + 1) % 1000;
  return {
    fetchedFrom: 0,
    fetchedAt: (day + age) * DAY_MS + DAY_MS / 2 + times,
    ageDays: age,
    digest: `${spent}`,
    hash: `${spent}`,
    schema: 's',
    generation: 'g',
    credential: 'token',
    rowCount: 1,
    answerRows: 1,
    seq: 0,
    unconfirmed: false,
    isFinal: false,
  };
};

/** Looks at dates at one age, and at another. */
function looks(
  scope: ReturnType<typeof createScope>,
  count: number,
  [ageThen, ageNow]: readonly [number, number],
  { changed = false, from = 0 } = {},
): ReturnType<typeof createScope> {
  for (let day = FIRST + from; day < FIRST + from + count; day += 1) {
    scope.look({ day, age: ageThen, spent: 1 });
    scope.look({ day, age: ageNow, spent: changed ? 2 : 1 });
  }
  return scope;
}

/** Looks at some days, each in order of its ages; what is said differs from time to time. */
const traces = fc
  .array(
    fc.record({
      day: fc.integer({ min: FIRST, max: FIRST + 6 }),
      age: fc.integer({ min: -1, max: 100 }),
      spent: fc.integer({ min: 0, max: 1 }),
    }),
    { maxLength: 60 },
  )
  .map((all) => all.toSorted((a, b) => a.day - b.day || a.age - b.age));

/** The same, by looking at all of them at once. */
function countedFrom(all: readonly Said[]) {
  const ages = new Map<number, { seen: Set<number>; changed: Set<number> }>();
  for (const [at, one] of all.entries()) {
    if (one.age < 1) continue;
    const later = all.slice(at).filter(({ day }) => day === one.day);
    const changes = later.slice(1).filter(({ spent }, nth) => spent !== later[nth]?.spent);
    if (changes.length === 0 && !later.some(({ age }) => age > one.age)) continue;
    const age = Math.min(one.age, 90);
    const { seen, changed } = ages.get(age) ?? { seen: new Set(), changed: new Set() };
    ages.set(age, { seen: seen.add(one.day), changed: changes.length > 0 ? changed.add(one.day) : changed });
  }
  return [...ages]
    .sort(([a], [b]) => a - b)
    .map(([ageDays, { seen, changed }]) => ({ ageDays, n: seen.size, changed: changed.size }));
}

describe('what is seen of days', () => {
  it('counts each date once an age, and as changed at each age at which it was seen before a change', () => {
    fc.assert(
      fc.property(traces, (all) => {
        const scope = createScope();
        for (const one of all) scope.look(one);
        expect(scope.counts().ages).toEqual(countedFrom(all));
      }),
    );
  });

  it('counts none that was not over, or was seen twice a day and had not changed', () => {
    const scope = createScope();
    looks(scope, 3, [0, 2], { changed: true });
    expect(scope.counts().ages).toEqual([]);
    looks(scope, 3, [4, 4], { from: 10 });
    expect(scope.counts().ages).toEqual([]);
    looks(scope, 1, [4, 4], { from: 20, changed: true });
    expect(scope.counts().ages).toEqual([{ ageDays: 4, n: 1, changed: 1 }]);
  });

  it('adds nothing when the same look is noted again on a line that has it', () => {
    const look = { ageFirst: 1, ageThen: 3, ageNow: 4, isChanged: true };
    const { counted, ages } = countAges(undefined, FIRST, look, COUNTING);
    expect(ages.map(([name]) => name)).toEqual(['seen 1', 'changed 1', 'seen 3', 'changed 3']);
    expect(countAges(counted, FIRST, look, COUNTING)).toEqual({ counted, ages: [] });
  });

  it('counts nothing of another series of the scope, but tells its late changes', () => {
    const scope = looks(createScope({ isCounted: false }), 1, [9, 10], { changed: true });
    expect([scope.counts().ages, scope.window(FIRST + 11).days]).toEqual([[], 10]);
  });
});

describe('finality', () => {
  it('never ends before a change that was observed, nor before report.restatementDays', () => {
    fc.assert(
      fc.property(traces, fc.integer({ min: 0, max: 2000 }), (all, laterDays) => {
        const scope = createScope();
        for (const one of all) scope.look(one);
        const today = FIRST + 110 + laterDays;
        const { days } = scope.window(today);
        expect(days).toBeGreaterThanOrEqual(RULES.restatementDays);
        expect(days).toBeLessThanOrEqual(RULES.maxDays);
        for (const { ageDays, changed } of scope.counts().ages)
          if (changed > 0 && ageDays < RULES.maxDays)
            expect(isFinalDay(today - ageDays, today, days)).toBe(false);
      }),
    );
  });

  it('widens at once to a day more than a change was seen after, at most to finality.maxDays', () => {
    const after = (age: number) =>
      looks(createScope(), 1, [age, age + 1], { changed: true }).window(FIRST + 100).days;
    expect([1, 4, 5, 6, 28, 44, 45, 80].map(after)).toEqual([5, 5, 6, 7, 29, 45, 45, 45]);
  });

  it('goes back only after 300 dates that were seen again at maxDays as they had been, and after two weeks', () => {
    const lateOn = FIRST + 10;
    const calm = (count: number, ages: readonly [number, number] = [5, 45]) =>
      looks(looks(createScope(), 1, [9, 10], { changed: true }), count, ages, { from: 1 });
    const days = (scope: ReturnType<typeof createScope>, today = lateOn + 400) => scope.window(today).days;
    expect(days(calm(300))).toBe(5);
    expect(days(calm(299))).toBe(10);
    expect(days(calm(300, [5, 44]))).toBe(10);
    // First seen when they were older than what is to be proven.
    expect(days(calm(300, [7, 45]))).toBe(10);
    expect(days(calm(300), lateOn + 13)).toBe(10);
    const again = looks(calm(300), 1, [12, 390], { changed: true, from: 400 });
    expect(days(again, FIRST + 800)).toBe(13);
    // The same dates count again, once they were seen after that change.
    for (let day = FIRST + 1; day <= FIRST + 300; day += 1) again.look({ day, age: 800, spent: 1 });
    expect(days(again, FIRST + 1200)).toBe(5);
  });

  it('is settled from the age on at which no day was seen to change, once enough dates were seen', () => {
    const seen = (count: number, ages: readonly number[]) =>
      ages.reduce((scope, age) => looks(scope, count, [age, age + 1], { from: 40 * age }), createScope());
    const settledFrom = (scope: ReturnType<typeof createScope>) => scope.window(FIRST + 100).settledFrom;
    expect(settledFrom(seen(30, [1, 2, 3, 4]))).toBe(1);
    expect(settledFrom(looks(seen(30, [1, 2, 3, 4]), 1, [2, 3], { changed: true }))).toBe(3);
    expect(settledFrom(seen(29, [1, 2, 3]))).toBeNull();
    expect(settledFrom(looks(seen(30, [1, 2, 3, 4]), 1, [20, 21], { changed: true }))).toBeNull();
  });
});

describe('truth', () => {
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
      const facts = { digest: 'old', schema: 's', generation: 'g', rowCount: 3, credential: 'token' };
      const before = { ...facts, ageDays: first, knownFrom: at(first), confirmedUntil: at(last), ...known };
      return {
        date,
        before: [before as unknown as Revision],
        seen: { ...facts, ageDays: now, unconfirmed: false, ...seen } as unknown as DayObservation['seen'],
        credential: undefined,
      };
    };
    const verdict = (one: DayObservation, isSplit = true) =>
      noteLook(undefined, one, { ...COUNTING, isSplit }).news.verdict;
    const OTHER = { digest: 'new' };

    it('is restated only where what was known had been seen twice, and numbers changed, not columns', () => {
      expect(verdict(sight(2, 2, 5, {}))).toBe('same');
      expect(verdict(sight(2, 2, 5, OTHER))).toBe('differs_since');
      expect(verdict(sight(2, 4, 5, OTHER))).toBe('restated');
      expect(verdict(sight(2, 4, 5, { ...OTHER, schema: 't' }))).toBe('differs_since');
      // Rows that are gone are a change of numbers.
      expect(verdict(sight(2, 4, 5, { ...OTHER, schema: 't', rowCount: 0 }))).toBe('restated');
    });

    it('is neither restated nor changed where another token asked, and is so again from the next look of that token on', () => {
      const other = { ...OTHER, credential: 'next' };
      const look = (one: DayObservation) => noteLook(undefined, one, COUNTING).news;
      expect(look(sight(2, 4, 5, other))).toMatchObject({
        verdict: 'differs_since',
        changedAfter: 0,
        ages: [],
      });
      expect(look(sight(2, 4, 5, { credential: 'next' }))).toMatchObject({ verdict: 'same', ages: [] });
      const confirmed = { ...sight(2, 4, 5, other), credential: 'next' };
      expect(look(confirmed)).toMatchObject({ verdict: 'restated', changedAfter: 4 });
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

  it('counts each date once an age, by the worst, and a failed call beside it', () => {
    const look = fc.record({
      day: fc.integer({ min: 0, max: 4 }),
      age: fc.integer({ min: -2, max: 120 }),
      verdict: fc.constantFrom(...VERDICTS),
    });
    fc.assert(
      fc.property(fc.array(look, { maxLength: 80 }), (unsorted) => {
        const all = unsorted.toSorted((a, b) => a.age - b.age);
        const lines = new Map<number, Counted | undefined>();
        const counts = new Map<string, number>();
        for (const { day, age, verdict } of all) {
          const { counted, verdicts } = judge(lines.get(day), age, verdict);
          lines.set(day, counted);
          for (const [name, by] of verdicts) counts.set(name, (counts.get(name) ?? 0) + by);
        }
        for (let age = 1; age <= 90; age += 1) {
          const ofAge = all.filter((one) => Math.min(one.age, 90) === age);
          const dates = (some: readonly { day: number }[]) => new Set(some.map(({ day }) => day)).size;
          const count = (verdict: string) => counts.get(`${verdict} ${age}`) ?? 0;
          expect(count('failed')).toBe(dates(ofAge.filter(({ verdict }) => verdict === 'failed')));
          expect(count('wrong')).toBe(dates(ofAge.filter(({ verdict }) => verdict === 'wrong')));
          const n = VERDICTS.slice(1).reduce((sum, verdict) => sum + count(verdict), 0);
          expect(n).toBe(dates(ofAge.filter(({ verdict }) => verdict !== 'failed')));
        }
      }),
    );
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

it('says the median within 10 % and the 95th percentile within 20 % of 200 days or more', () => {
  const spread = fc.double({ noNaN: true, min: 0.002, max: 1 });
  const changes = fc.oneof(
    fc.record({ least: spread, most: spread }).map(({ least, most }) => {
      const [low, high] = [Math.min(least, most), Math.max(least, most)];
      return (share: number) => low + share * (high - low);
    }),
    fc.record({ most: spread, power: fc.integer({ min: 1, max: 4 }) }).map(
      ({ most, power }) =>
        (share: number) =>
          Math.max(0.002, most * share ** power),
    ),
  );
  fc.assert(
    fc.property(changes, fc.integer({ min: 200, max: 900 }), (changeAt, n) => {
      const all = Array.from({ length: n }, (_, at) => changeAt((at + 0.5) / n));
      const { spent } = expectedOf(counted(all), 1) ?? {};
      expect(spent?.n).toBe(n);
      const exact = (share: number) => all[Math.ceil(n * share) - 1] ?? 0;
      expect(Math.abs((spent?.p50 ?? 0) / exact(0.5) - 1)).toBeLessThanOrEqual(0.1);
      expect(Math.abs((spent?.p95 ?? 0) / exact(0.95) - 1)).toBeLessThanOrEqual(0.2);
    }),
  );
  expect(expectedOf(counted(Array.from({ length: 200 }, () => 0)), 1)).toEqual({
    spent: { p50: 0, p95: 0, n: 200 },
  });
});

it('says nothing of fewer than 30 days, nor of another age', () => {
  const changes = Array.from({ length: 30 }, () => 0.04);
  expect(expectedOf(counted(changes.slice(1)), 1)).toBeNull();
  expect(expectedOf(counted(changes), 2)).toBeNull();
  expect(expectedOf(counted(changes, 1, 'ad spend'), 1)).toEqual({
    'ad spend': { p50: 0.0397, p95: 0.0397, n: 30 },
  });
});

it('is bounded roughly: by the rule of three where nothing was seen, and never below what was seen', () => {
  expect([percentAtMost(0, 300), percentAtMost(0, 30), percentAtMost(0, 2)]).toEqual([1, 10, 100]);
  expect([percentAtMost(1, 100), percentAtMost(4, 100), percentAtMost(7, 7)]).toEqual([6, 11, 100]);
  expect(percentAtMost(0, 1_000_000)).toBeGreaterThan(0);
  expect(percentAtMost(2000, 40_000)).toBeCloseTo(5.24, 1);
});

it('counts ages up to 90 alone, and reads no rows of days first seen later', async () => {
  const clock = createTestClock();
  const counted: string[] = [];
  const counters: Counters = {
    add: async (_id, adds) => void counted.push(...adds.map(({ field }) => field)),
    read: async (groups) => groups.map(() => new Map()),
  };
  const days = daysOn((await openInMemory(clock)).days);
  const { logger } = createRecordedLog();
  const counts = createDayCounts({ counters, clock, logger });
  const expected = createExpectedChanges({
    counts,
    days,
    policy: { timezoneOf: () => 'UTC' },
    clock,
    logger,
  });
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
  await counts.flush();
  expect(counted.sort()).toEqual(['89 0 clicks', '90 0 clicks']);
});
