import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import {
  ageMs,
  type Facts,
  freshForMs,
  isFinal,
  isFinalDay,
  type State,
  stateAt,
} from '../../../src/reports/rows/freshness.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import { FETCHED_AT, factsOf, RULES } from './entries.js';

const TODAY = dayNumber('2026-11-21') as number;

describe('isFinalDay', () => {
  it('is as the contract says: today the 10th, the 4th is final, the 5th is not', () => {
    const today = dayNumber('2026-11-10') as number;
    const final = (date: string) => isFinalDay(dayNumber(date) as number, today, 5);
    expect([final('2026-11-03'), final('2026-11-04'), final('2026-11-05'), final('2026-11-10')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('with no restatement at all, yesterday is final and today is not', () => {
    expect([isFinalDay(TODAY - 1, TODAY, 0), isFinalDay(TODAY, TODAY, 0)]).toEqual([true, false]);
  });
});

describe('freshForMs', () => {
  // Fetched on 2026-11-21: final up to the 15th.
  it.each<[string, Partial<Facts>, number]>([
    ['today', { lastDay: '2026-11-21' }, 5 * MINUTE],
    ['a day to come', { lastDay: '2027-01-01' }, 5 * MINUTE],
    ['yesterday', { lastDay: '2026-11-20' }, HOUR],
    ['the first day that may be restated', { lastDay: '2026-11-16' }, HOUR],
    ['the last final day', { lastDay: '2026-11-15' }, 30 * DAY],
    ['a year ago', { lastDay: '2025-11-21' }, 30 * DAY],
    ['an empty day that may be restated', { lastDay: '2026-11-16', emptyTail: 'unconfirmed' }, 5 * MINUTE],
    [
      'the same, seen twice',
      { lastDay: '2026-11-16', emptyTail: 'confirmed', emptySince: [['2026-11-16', 0]] },
      HOUR,
    ],
    [
      'the same, confirmed by a release that did not look at each day',
      { lastDay: '2026-11-16', emptyTail: 'confirmed' },
      5 * MINUTE,
    ],
    ['an empty final day', { lastDay: '2026-11-15', emptyTail: 'unconfirmed' }, HOUR],
    [
      'the same, seen twice',
      { lastDay: '2026-11-15', emptyTail: 'confirmed', emptySince: [['2026-11-15', 0]] },
      30 * DAY,
    ],
    [
      'the same, confirmed by a release that did not look at each day',
      { lastDay: '2026-11-15', emptyTail: 'confirmed' },
      HOUR,
    ],
    ['today, empty', { lastDay: '2026-11-21', emptyTail: 'confirmed' }, 5 * MINUTE],
    ['no last day', { lastDay: null, kind: 'open' }, 5 * MINUTE],
    ['no advertiser', { lastDay: '2025-01-01', kind: 'open' }, 5 * MINUTE],
    ['an undeclared endpoint', { lastDay: '2025-01-01', kind: 'undeclared' }, 5 * MINUTE],
    ['what the platform says', { lastDay: '2025-01-01', originMs: 42_000 }, 42_000],
    ['what the platform says, of an undeclared endpoint', { kind: 'undeclared', originMs: 0 }, 0],
  ])('%s', (_what, changes, expected) => {
    expect(freshForMs(factsOf(changes), RULES)).toBe(expected);
  });

  it('counts by the day on which the fetch began, not by the day it is read', () => {
    const facts = factsOf({ lastDay: '2026-11-20', fetchedOn: TODAY });
    expect(freshForMs(facts, RULES)).toBe(HOUR);
    expect(stateAt(facts, RULES, FETCHED_AT + 20 * DAY)).toBe<State>('absent');
    expect(isFinal(facts, RULES)).toBe(false);
  });

  it('never is longer for a younger day', () => {
    const kinds = fc.constantFrom<Facts['emptyTail']>('no', 'unconfirmed', 'confirmed');
    fc.assert(
      fc.property(
        fc.integer({ min: -400, max: 30 }),
        fc.integer({ min: 0, max: 30 }),
        kinds,
        (offset, younger, emptyTail) => {
          const freshFor = (day: number) => freshForMs(factsOf({ lastDay: isoDay(day), emptyTail }), RULES);
          expect(freshFor(TODAY + offset + younger)).toBeLessThanOrEqual(freshFor(TODAY + offset));
        },
      ),
    );
  });
});

describe('isFinal', () => {
  it.each<[Partial<Facts>, boolean]>([
    [{ lastDay: '2026-11-15' }, true],
    [{ lastDay: '2026-11-16' }, false],
    [{ lastDay: null }, false],
  ])('%j: %s', (changes, expected) => {
    expect(isFinal(factsOf(changes), RULES)).toBe(expected);
  });
});

describe('stateAt', () => {
  const restating = factsOf({ lastDay: '2026-11-20' });
  const fresh = HOUR;
  const swr = fresh + 10 * MINUTE;
  const sie = fresh + 7 * DAY;

  it.each<[string, number, State]>([
    ['at once', 0, 'fresh'],
    ['to the last millisecond', fresh - 1, 'fresh'],
    ['from then on refreshed behind', fresh, 'revalidate'],
    ['for ten minutes', swr - 1, 'revalidate'],
    ['then only when the platform fails', swr, 'error-only'],
    ['for a week', sie - 1, 'error-only'],
    ['and then no more', sie, 'absent'],
    ['from a writer whose clock is a little ahead', -5 * MINUTE, 'fresh'],
    ['from a writer whose clock is wrong', -5 * MINUTE - 1, 'absent'],
  ])('%s', (_what, afterMs, expected) => {
    expect(stateAt(restating, RULES, FETCHED_AT + afterMs)).toBe(expected);
  });

  it('where RFC 9111 decides, is fresh or absent: nothing allowed it to be stale', () => {
    const facts = factsOf({ originMs: 60_000 });
    expect(stateAt(facts, RULES, FETCHED_AT + 59_999)).toBe('fresh');
    expect(stateAt(facts, RULES, FETCHED_AT + 60_000)).toBe('absent');
    expect(stateAt(factsOf({ originMs: 0 }), RULES, FETCHED_AT)).toBe('absent');
  });

  it('only ever gets worse with time', () => {
    const order: State[] = ['fresh', 'revalidate', 'error-only', 'absent'];
    const days = fc.integer({ min: -400, max: 10 }).map((offset) => isoDay(TODAY + offset));
    const times = fc.integer({ min: 0, max: 60 * DAY });
    fc.assert(
      fc.property(days, times, times, (lastDay, a, b) => {
        const at = (ms: number) => order.indexOf(stateAt(factsOf({ lastDay }), RULES, FETCHED_AT + ms));
        expect(at(Math.max(a, b))).toBeGreaterThanOrEqual(at(Math.min(a, b)));
      }),
    );
  });
});

describe('ageMs', () => {
  it('is never negative, though clocks may differ', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (fetchedAt, now) => {
        const age = ageMs(fetchedAt, now);
        expect(age).toBe(now > fetchedAt ? now - fetchedAt : 0);
      }),
    );
  });
});
