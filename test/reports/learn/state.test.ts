/** Divisibility as a state: agreements, trials, refutations. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DayRange } from '../../../src/reports/cache/plan.js';
import {
  type Agreement,
  agree,
  currentState,
  type Divisibility,
  divisibilityId,
  independentRange,
  isNewTrial,
  isProbationOver,
  LONG_TRIAL_DAYS,
  NEEDED_DAYS,
  NEEDED_PAIRS,
  NEEDED_TRIALS,
  noteRestatement,
  pairId,
  passTrial,
  piecesToTry,
  REFUTED_MS,
  rangeToTry,
  refute,
  startLearning,
  type Trial,
} from '../../../src/reports/learn/state.js';
import { isoDay } from '../../../src/reports/query/days.js';
import { get, post } from '../query/canonical-request.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const START = startLearning('first');
const agreement = fc.record({
  date: fc.integer({ min: 1, max: 5 }).map((day) => `2026-11-0${day}`),
  pair: fc.integer({ min: 1, max: 30 }).map((pair) => `pair-${pair}`),
});
const TRIALS = [3, 4, 5, 6, 14].map((days, index) => ({
  from: '2026-10-01',
  to: `2026-11-0${index + 1}`,
  days,
}));
const ON_PROBATION: Divisibility = { ...START, state: 'probation', trials: [] };
const PROVEN = TRIALS.reduce((known, trial) => passTrial(known, trial, NOW), ON_PROBATION);

/** What one comparison brings: some days of some pairs. */
const batches = fc.array(fc.array(agreement, { maxLength: 6 }), { maxLength: 30 });

const learn = (known: Divisibility, news: readonly (readonly Agreement[])[], nowMs = NOW) =>
  news.reduce((before, batch) => agree(before, batch, nowMs), known);
const on = (date: string, pair: string): Agreement => ({ date, pair });

describe('learning', () => {
  it('leads to probation as soon as, and not before, three days of two pairs were seen to agree', () => {
    fc.assert(
      fc.property(batches, (news) => {
        let known = START;
        const seen: Agreement[] = [];
        for (const batch of news) {
          known = agree(known, batch, NOW);
          seen.push(...batch);
          const days = new Set(seen.map(({ date }) => date)).size;
          const pairs = new Set(seen.map(({ pair }) => pair)).size;
          const enough = days >= NEEDED_DAYS && pairs >= NEEDED_PAIRS;
          expect(known.state).toBe(enough ? 'probation' : 'learning');
        }
      }),
      { numRuns: 200 },
    );
    expect([NEEDED_DAYS, NEEDED_PAIRS]).toEqual([3, 2]);
  });

  it('keeps a short record whatever it is told, and the same value when nothing is new', () => {
    fc.assert(
      fc.property(batches, (news) => {
        const known = learn(START, news);
        expect(known.agreements.length).toBeLessThanOrEqual(NEEDED_DAYS + NEEDED_PAIRS);
        expect(agree(known, known.agreements, NOW)).toBe(known);
        expect(agree(known, [], NOW)).toBe(known);
      }),
    );
  });

  it('keeps no agreements on probation, and changes nothing there or later', () => {
    const news = [on('2026-11-01', 'a'), on('2026-11-02', 'a'), on('2026-11-03', 'b')];
    const onProbation = agree(START, news, NOW);
    expect(onProbation).toEqual({ ...START, state: 'probation', trials: [] });
    expect(agree(onProbation, news, NOW)).toBe(onProbation);
    expect(agree(PROVEN, news, NOW)).toBe(PROVEN);
  });
});

describe('probation', () => {
  it('is over with the fifth range, and not before', () => {
    const states: string[] = [];
    TRIALS.reduce((known, trial) => {
      const after = passTrial(known, trial, NOW);
      states.push(currentState(after, NOW));
      return after;
    }, ON_PROBATION);
    expect(states).toEqual(['probation', 'probation', 'probation', 'probation', 'proven']);
    expect(PROVEN).toMatchObject({ provenAt: NOW, triedGeneration: 'first' });
  });

  it('is not passed by the same length, the same end or without a long range', () => {
    const short = TRIALS.slice(0, 4);
    const four = short.reduce((known, trial) => passTrial(known, trial, NOW), ON_PROBATION);
    for (const trial of [
      { from: '2026-09-01', to: '2026-11-09', days: 6 },
      { from: '2026-09-01', to: '2026-11-04', days: 40 },
    ]) {
      expect(passTrial(four, trial, NOW)).toBe(four);
    }
    const five = passTrial(four, { from: '2026-11-01', to: '2026-11-08', days: 8 }, NOW);
    expect(currentState(five, NOW)).toBe('probation');
    expect(currentState(passTrial(five, { from: '2026-10-01', to: '2026-11-09', days: 40 }, NOW), NOW)).toBe(
      'proven',
    );
  });

  it('cannot be passed while learning, refuted or proven', () => {
    for (const known of [START, PROVEN, refute(PROVEN, 'second', NOW)]) {
      expect(passTrial(known, { from: '2026-08-01', to: '2026-10-09', days: 70 }, NOW)).toBe(known);
    }
  });

  it('is what proofs without it come to, also those an older release makes of a newer record', () => {
    const { triedGeneration: _, trials: __, ...older } = PROVEN;
    expect(currentState(older, NOW)).toBe('probation');
    const provenAnew = { ...refute(PROVEN, 'second', NOW), state: 'proven' as const, provenAt: NOW };
    expect(currentState(provenAnew, NOW)).toBe('probation');
    const after = TRIALS.reduce((known, trial) => passTrial(known, trial, NOW), provenAnew as Divisibility);
    expect(currentState(after, NOW)).toBe('proven');
  });
});

describe('a refutation', () => {
  const refuted = refute(PROVEN, 'second', NOW);

  it('changes the generation, which makes the old segments void, and forgets what was learned', () => {
    expect(refuted).toEqual({
      ...START,
      state: 'refuted',
      generation: 'second',
      trials: [],
      triedGeneration: 'first',
      refutedUntil: NOW + REFUTED_MS,
    });
    expect(refute(learn(START, [[on('2026-11-01', 'a')]]), 'second', NOW).agreements).toEqual([]);
  });

  it('lasts a day, to the millisecond; then learning starts anew', () => {
    expect(REFUTED_MS).toBe(24 * 3_600_000);
    expect(currentState(refuted, NOW)).toBe('refuted');
    expect(currentState(refuted, NOW + REFUTED_MS - 1)).toBe('refuted');
    expect(agree(refuted, [on('2026-11-01', 'a')], NOW + REFUTED_MS - 1)).toBe(refuted);
    expect(currentState(refuted, NOW + REFUTED_MS)).toBe('learning');
    expect(currentState(PROVEN, NOW + 1000 * REFUTED_MS)).toBe('proven');
  });

  it('asks for the whole proof again afterwards, under the new generation', () => {
    const later = NOW + REFUTED_MS;
    const one = agree(refuted, [on('2026-11-01', 'a'), on('2026-11-02', 'a')], later);
    expect([one.state, one.generation, one.refutedUntil]).toEqual(['learning', 'second', null]);
    const two = agree(one, [on('2026-11-03', 'b')], later);
    expect([two.state, two.generation]).toEqual(['probation', 'second']);
    const three = TRIALS.reduce((known, trial) => passTrial(known, trial, later), two);
    expect([three.state, currentState(three, later), three.provenAt]).toEqual(['proven', 'proven', later]);
  });
});

it('a restatement is counted with the greatest age seen, and changes nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 6, max: 400 }), { minLength: 1, maxLength: 9 }), (ages) => {
      const known = ages.reduce(noteRestatement, START);
      expect(known).toEqual({
        ...START,
        restatements: ages.length,
        oldestRestatementDays: Math.max(...ages),
      });
    }),
  );
});

describe('divisibilityId', () => {
  const id = (query: string) => divisibilityId(get(query).report, ['advertiserId', 'userId']);
  const BASE = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

  it('is one for all accounts, campaigns and periods', () => {
    for (const other of [
      'advertiserId=2&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07',
      'byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07',
      'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-07',
      `${BASE}&campaignIds=4,5`,
    ]) {
      expect(id(other), other).toBe(id(BASE));
    }
  });

  it('differs by split, currency, unknown parameters and their values, endpoint and method', () => {
    const { report } = get(BASE);
    const all = [
      ...['', '&byCampaign=1', '&spentBased=usd', '&spentBased=local', '&tz=1', '&tz=2', '&zone=1'].map(
        (more) => id(BASE + more),
      ),
      divisibilityId({ ...report, endpoint: 'creatives/get' }, ['advertiserId']),
      divisibilityId(post('{"byDate":1,"advertiserId":1}').report, ['advertiserId']),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('pairId', () => {
  it('knows a pair in either order, and no other', () => {
    const text = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(text, text, text, text, (series, one, other, third) => {
        expect(pairId(series, one, other)).toBe(pairId(series, other, one));
        if (third !== other) expect(pairId(series, one, other)).not.toBe(pairId(series, one, third));
        expect(pairId(`${series}x`, one, other)).not.toBe(pairId(series, one, other));
      }),
    );
  });
});

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
