/** How long days are fresh, when they are final, and when empty ones are believed. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import {
  ageMs,
  type EarlierLook,
  type Facts,
  freshForMs,
  isCut,
  isFinal,
  isFinalDay,
  joinEmptyDays,
  judgeEmptyDays,
  type State,
  stateAt,
} from '../../../src/reports/rows/freshness.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import { FETCHED_AT, factsOf, RULES } from './entries.js';

const TODAY = dayNumber('2026-11-21') as number;

it.each([
  ['2026-11-15', 5, true],
  ['2026-11-16', 5, false],
  ['2026-11-20', 0, true],
  ['2026-11-21', 0, false],
])('on the 21st the day %s, with %i days of restatement, is final: %s', (date, days, expected) => {
  expect(isFinalDay(dayNumber(date) as number, TODAY, days)).toBe(expected);
  if (days === RULES.restatementDays) expect(isFinal(factsOf({ lastDay: date }), RULES)).toBe(expected);
  expect(isFinal(factsOf({ lastDay: null }), RULES)).toBe(false);
});

it('rows of an answer with the row count of a known cap are neither final nor usable, unless marked or complete', () => {
  const rules = { ...RULES, caps: [600, 1000] };
  const judged = (changes: Partial<Facts>) => {
    const facts = factsOf({ lastDay: '2026-11-01', ...changes });
    return [isCut(facts, rules), isFinal(facts, rules), stateAt(facts, rules, FETCHED_AT)];
  };
  expect(judged({ answerRows: 600 })).toEqual([true, false, 'absent']);
  for (const changes of [{}, { answerRows: 601 }, { answerRows: 1000, complete: true as const }])
    expect(judged(changes)).toEqual([false, true, 'fresh']);
  expect(judged({ answerRows: 600, flaws: [{ code: 'rows_capped', rows: 600 }] })).toEqual([
    ...[false, false],
    'fresh',
  ]);
  expect(judged({ answerRows: 600, flaws: [{ code: 'duplicate_rows' }] })[2]).toBe('absent');
});

describe('freshForMs', () => {
  const confirmed = (lastDay: string, isSeenTwice = false): Partial<Facts> => ({
    lastDay,
    emptyTail: 'confirmed',
    ...(isSeenTwice && { emptySince: [[lastDay, 0]] }),
  });

  // Fetched on 2026-11-21: final up to the 15th.
  it.each<[string, Partial<Facts>, number]>([
    ['today', { lastDay: '2026-11-21' }, 5 * MINUTE],
    ['the first day that may be restated', { lastDay: '2026-11-16' }, HOUR],
    ['the last final day', { lastDay: '2026-11-15' }, 30 * DAY],
    ['an empty day that may be restated', { lastDay: '2026-11-16', emptyTail: 'unconfirmed' }, 5 * MINUTE],
    ['the same, seen twice', confirmed('2026-11-16', true), HOUR],
    ['the same, confirmed by a release that did not look at each day', confirmed('2026-11-16'), 5 * MINUTE],
    ['an empty final day', { lastDay: '2026-11-15', emptyTail: 'unconfirmed' }, HOUR],
    ['the same, seen twice', confirmed('2026-11-15', true), 30 * DAY],
    ['the same, confirmed by a release that did not look at each day', confirmed('2026-11-15'), HOUR],
    ['no last day', { lastDay: null, kind: 'open' }, 5 * MINUTE],
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

describe('stateAt', () => {
  const restating = factsOf({ lastDay: '2026-11-20' });
  const fresh = HOUR;
  const swr = fresh + 10 * MINUTE;
  const sie = fresh + 7 * DAY;

  it.each<[string, number, State]>([
    ['to the last millisecond', fresh - 1, 'fresh'],
    ['from then on refreshed behind', fresh, 'revalidate'],
    ['for ten minutes', swr - 1, 'revalidate'],
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

describe('empty days', () => {
  const DAY = '2026-11-03';

  const look = (
    emptyTail: EarlierLook['emptyTail'],
    agoMs: number,
    more: Partial<EarlierLook> = {},
  ): EarlierLook => ({ emptyTail, fetchedAt: FETCHED_AT - agoMs, lastDay: DAY, ...more });
  const since = (agoMs: number, from = DAY) => ({ emptySince: [[from, FETCHED_AT - agoMs] as const] });

  describe('an empty day at the end of an answer', () => {
    it.each<[string, EarlierLook | null, boolean]>([
      ['is not confirmed by one look', null, false],
      ['is not confirmed by a look that saw rows', look('no', 2 * HOUR), false],
      ['is not confirmed by a second look too soon', look('unconfirmed', HOUR - 1, since(HOUR - 1)), false],
      ['is confirmed by a look an hour later', look('unconfirmed', HOUR, since(HOUR)), true],
      ['counts from its first look, not from the last', look('unconfirmed', 1, since(HOUR)), true],
      ['stays confirmed', look('confirmed', 1, since(9 * HOUR)), true],
      ['is known from an older release when it was the last day', look('unconfirmed', HOUR), true],
      [
        'is not known from an older release when it was another day than the last',
        look('confirmed', HOUR, { lastDay: '2026-11-04' }),
        false,
      ],
      [
        'is not confirmed by days before it',
        look('confirmed', HOUR, { lastDay: '2026-11-02', ...since(HOUR, '2026-11-01') }),
        false,
      ],
      [
        'is not confirmed by days after it',
        look('confirmed', HOUR, { lastDay: '2026-11-04', ...since(HOUR, '2026-11-04') }),
        false,
      ],
      ['is not confirmed by a clock that stepped back', look('unconfirmed', -HOUR, since(-HOUR)), false],
    ])('%s', (_what, earlier, isConfirmed) => {
      const expected = isConfirmed ? 'confirmed' : 'unconfirmed';
      expect(judgeEmptyDays([DAY], FETCHED_AT, () => earlier).emptyTail).toBe(expected);
    });

    it('leaves an answer with rows at its end alone', () => {
      expect(judgeEmptyDays([], FETCHED_AT, () => look('confirmed', HOUR))).toEqual({ emptyTail: 'no' });
    });
  });

  describe('looks at answers, one after another', () => {
    const FIRST = 20_000;
    const DAYS = Array.from({ length: 6 }, (_, index) => isoDay(FIRST + index));
    /** How far after the one before, and how many days at the end are empty. */
    const looks = fc.array(
      fc.record({ afterMs: fc.integer({ min: 1, max: 2 * HOUR }), empty: fc.integer({ min: 0, max: 6 }) }),
      { minLength: 1, maxLength: 8 },
    );

    it('confirm an end only when each of its days was empty in every look for an hour, kept whole or by day', () => {
      fc.assert(
        fc.property(looks, (all) => {
          let atMs = FETCHED_AT;
          let whole: EarlierLook | null = null;
          const byDay = new Map<string, EarlierLook>();
          const emptyFrom = new Map<string, number>();
          for (const { afterMs, empty } of all) {
            atMs += afterMs;
            const tail = DAYS.slice(DAYS.length - empty);
            for (const day of DAYS) {
              if (!tail.includes(day)) emptyFrom.delete(day);
              else if (!emptyFrom.has(day)) emptyFrom.set(day, atMs);
            }
            const isOld = (day: string) => atMs - (emptyFrom.get(day) as number) >= HOUR;
            const before: EarlierLook | null = whole;
            whole = {
              fetchedAt: atMs,
              lastDay: DAYS.at(-1) as string,
              ...judgeEmptyDays(tail, atMs, () => before),
            };
            expect(whole.emptyTail === 'confirmed').toBe(tail.length > 0 && tail.every(isOld));
            for (const day of DAYS) {
              const known = byDay.get(day) ?? null;
              const end = judgeEmptyDays(tail.includes(day) ? [day] : [], atMs, () => known);
              byDay.set(day, { fetchedAt: atMs, lastDay: day, ...end });
              expect(end.emptyTail === 'confirmed').toBe(tail.includes(day) && isOld(day));
            }
            const joined = joinEmptyDays(DAYS.map((day) => byDay.get(day) as EarlierLook));
            expect(joined.emptyTail).toBe(whole.emptyTail);
            // What was joined tells of each day what the whole tells.
            const [later, joinedLook] = [atMs + HOUR - 1, { ...whole, ...joined }];
            expect(judgeEmptyDays(tail, later, () => joinedLook)).toEqual(
              judgeEmptyDays(tail, later, () => whole),
            );
          }
        }),
      );
    });
  });
});
