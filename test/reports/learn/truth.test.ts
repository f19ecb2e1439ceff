/** Truth, measured: what is said of a day that is asked for again, and how that is counted. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DayObservation } from '../../../src/reports/history/day-writes.js';
import type { Revision } from '../../../src/reports/history/revision.js';
import {
  countVerdicts,
  type DayVerdict,
  decodeEvidence,
  decodeVerdicts,
  encodeEvidence,
  evidenceOfVerdicts,
  forget,
  matchesDigest,
  merge,
  NO_EVIDENCE,
  VERDICTS,
  verdictOf,
} from '../../../src/reports/learn/evidence.js';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../../../src/reports/rows/entry.js';
import { sortedHashOf } from '../../../src/reports/rows/select-rows.js';

const FIRST = dayNumber('2026-01-01') as number;
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

  it('is restated only if confirmed, and the same exactly if its rows are, whatever else is seen', () => {
    const small = fc.integer({ min: 0, max: 4 });
    fc.assert(
      fc.property(small, small, small, fc.boolean(), fc.boolean(), (first, more, later, changed, isSplit) => {
        const last = first + more;
        const found = verdict(sight(first, last, last + later, changed ? OTHER : {}), isSplit);
        if (last < 1) expect(found).toBeNull();
        else if (!changed) expect(found).toBe('same');
        else expect(found).toBe(more > 0 && isSplit ? 'restated' : 'differs_since');
      }),
    );
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
      expect(decodeVerdicts(text)).toBeNull();
  });

  it('is read from the documents of releases that wrote it apart from finality', () => {
    const truth = decodeVerdicts('{"form":1,"since":7,"dates":[[20758,"0","8","0","0","0"]]}');
    const finality = decodeEvidence('{"form":1,"since":9,"forgotten":[-1,-1],"dates":[[20758,"6",3,2,3]]}');
    const both = merge(finality ?? NO_EVIDENCE, truth ?? NO_EVIDENCE);
    expect(both.since).toBe(7);
    expect(countVerdicts(both)).toMatchObject([{ ageDays: 3, n: 1, same: 1 }]);
    expect(both.dates.get(20758)).toMatchObject({ again: 6n, until: 3, changedAfter: 2, changedAt: 3 });
    expect(decodeEvidence(encodeEvidence(both))).toEqual(both);
  });
});
