/**
 * What one replica saw while the store was away was marked at the newest revision, and only where nothing was newer than
 * the gap: where another replica was the first to write after it, what was known during the gap was said to be exact.
 */
import { expect, it } from 'vitest';
import { readDays } from '../../src/reports/history/read.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { dayOf, openHistory, recorderOn } from '../reports/history/on-disk.js';
import { HOUR, NOON } from '../support/test-clock.js';

it('a gap is marked where it was, though another replica has written since', async () => {
  const { history } = await openHistory();
  let isAway = false;
  const heads: typeof history.heads = async (...asked) => {
    if (isAway) throw new StoreUnavailable('away');
    return history.heads(...asked);
  };
  const [one, other] = [recorderOn({ ...history, heads }), recorderOn(history)];
  const date = '2026-11-01';
  const fetchOf = (spent: number, atMs: number) => ({ series: 's', days: [dayOf(date, spent, atMs)] });
  await one.record(fetchOf(1, NOON));
  isAway = true;
  await one.record(fetchOf(2, NOON + HOUR));
  isAway = false;
  await other.record(fetchOf(3, NOON + 2 * HOUR));
  await one.record(fetchOf(3, NOON + 3 * HOUR));
  const readable = { store: history, isErased: () => false, enabled: true };
  const lacksAt = async (at: number) =>
    (await readDays(readable, { series: 's', dates: [date], generation: 'g', moment: { at } })).map(
      ({ lacks }) => lacks,
    );
  expect(await lacksAt(NOON + HOUR - 1)).toEqual([null]);
  expect(await lacksAt(NOON + HOUR)).toEqual(['missed']);
  expect(await lacksAt(NOON + 2 * HOUR)).toEqual([null]);
});
