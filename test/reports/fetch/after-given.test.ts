/** Times of states that an answer was given without. */
import { describe, expect, it } from 'vitest';
import { afterGiven, isOlderThanGiven } from '../../../src/reports/fetch/keep.js';

const DATE = '2026-11-01';
const dayOf = (sortedHash: string, fetchedAt: number) => ({
  header: { lastDay: DATE, fetchedAt, splitFrom: { sortedHash } },
});
const answerOf = (...days: object[]) => ({ kind: 'answer', rows: null, bytes: null, days }) as never;
const fetchOf = (...known: ReturnType<typeof dayOf>[]) =>
  ({ series: 's', known: new Map(known.map((day) => [day.header.lastDay, day])) }) as never;

/** An answer was given that rests on fetches until then. */
function gatewayAt(givenMs: number, { now = (): number => 0, atHand = new Map<string, object>() } = {}) {
  const days = { shownAtHand: () => atHand, beingWritten: () => new Map() };
  return { now, days, replacements: { givenMs: () => givenMs } } as never;
}

describe('a state that an answer was given without', () => {
  it.each([
    ['has other rows than the day that is known', dayOf('b', 10), fetchOf(dayOf('a', 5)), true],
    ['has the rows that were given', dayOf('a', 10), fetchOf(dayOf('a', 10)), false],
    [
      'has the rows of the plan, and others may have been given since',
      dayOf('a', 10),
      fetchOf(dayOf('a', 5)),
      true,
    ],
    ['is of a day that nobody was given', dayOf('b', 10), fetchOf(), false],
    ['was fetched after all that was given', dayOf('b', 11), fetchOf(dayOf('a', 5)), false],
  ])('%s', (_what, day, fetch, isOlder) =>
    expect(isOlderThanGiven(gatewayAt(10), fetch, answerOf(day))).toBe(isOlder),
  );

  it('is compared with what this process knows now', () => {
    const gateway = gatewayAt(10, { atHand: new Map([[DATE, dayOf('b', 7)]]) });
    expect(isOlderThanGiven(gateway, fetchOf(dayOf('a', 5)), answerOf(dayOf('b', 10)))).toBe(false);
    expect(isOlderThanGiven(gateway, fetchOf(dayOf('b', 5)), answerOf(dayOf('a', 10)))).toBe(true);
  });

  it('is dated after that answer, and never ahead of the clock', async () => {
    let ms = 9;
    const gateway = gatewayAt(10, { now: () => ms++ });
    const dated = await afterGiven(gateway, fetchOf(), answerOf(dayOf('b', 10)));
    expect(dated).toMatchObject({ days: [{ header: { fetchedAt: 12 } }] });
    const setBack = gatewayAt(10, { now: () => 3 });
    expect(await afterGiven(setBack, fetchOf(), answerOf(dayOf('b', 3)))).toEqual(answerOf(dayOf('b', 3)));
  });
});
