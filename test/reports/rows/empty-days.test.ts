import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoDay } from '../../../src/reports/query/days.js';
import { type EarlierLook, joinEmptyDays, judgeEmptyDays } from '../../../src/reports/rows/freshness.js';
import { HOUR } from '../../support/test-clock.js';
import { FETCHED_AT } from './entries.js';

const DAY = '2026-11-03';

const look = (
  emptyTail: EarlierLook['emptyTail'],
  agoMs: number,
  more: Partial<EarlierLook> = {},
): EarlierLook => ({ emptyTail, fetchedAt: FETCHED_AT - agoMs, lastDay: DAY, ...more });
const since = (agoMs: number, from = DAY) => ({ emptySince: [[from, FETCHED_AT - agoMs] as const] });

describe('an empty day at the end of an answer', () => {
  it.each<[string, EarlierLook | null, EarlierLook['emptyTail']]>([
    ['is not confirmed by one look', null, 'unconfirmed'],
    ['is not confirmed by a look that saw rows', look('no', 2 * HOUR), 'unconfirmed'],
    [
      'is not confirmed by a second look too soon',
      look('unconfirmed', HOUR - 1, since(HOUR - 1)),
      'unconfirmed',
    ],
    ['is confirmed by a look an hour later', look('unconfirmed', HOUR, since(HOUR)), 'confirmed'],
    ['counts from its first look, not from the last', look('unconfirmed', 1, since(HOUR)), 'confirmed'],
    ['stays confirmed', look('confirmed', 1, since(9 * HOUR)), 'confirmed'],
    ['is known from an older release when it was the last day', look('unconfirmed', HOUR), 'confirmed'],
    [
      'is not known from an older release when it was another day than the last',
      look('confirmed', HOUR, { lastDay: '2026-11-04' }),
      'unconfirmed',
    ],
    [
      'is not confirmed by days before it',
      look('confirmed', HOUR, { lastDay: '2026-11-02', ...since(HOUR, '2026-11-01') }),
      'unconfirmed',
    ],
    [
      'is not confirmed by days after it',
      look('confirmed', HOUR, { lastDay: '2026-11-04', ...since(HOUR, '2026-11-04') }),
      'unconfirmed',
    ],
    [
      'is not confirmed by a clock that stepped back',
      look('unconfirmed', -HOUR, since(-HOUR)),
      'unconfirmed',
    ],
  ])('%s', (_what, earlier, expected) => {
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
