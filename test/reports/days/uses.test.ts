/** The use of months is noted for the room of days: once a day for each month, in batches of a minute, until the close. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { DAY, MINUTE } from '../../support/test-clock.js';
import { fetchedDay, MONTH, openDays, PLACE, rowOf, SERIES } from './stored-days.js';

it('a plain report notes each month that it finds, once a day, in one call a minute', async () => {
  const calls: (readonly [months: string[], day: number])[] = [];
  const { days, clock, fetch, store } = openDays(undefined, (store) => ({
    ...store,
    async used(months, day) {
      calls.push([months.map(({ month }) => month), day]);
      await store.used(months, day);
    },
  }));
  const [date, other] = [`${MONTH}-01`, '2026-08-31'];
  await fetch([date, other].map((one) => fetchedDay(one, [rowOf(one, 1)], clock.now())));
  const today = Math.floor(clock.now() / DAY);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  for (let reads = 0; reads < 3; reads += 1) await days.read(SERIES, [date, other, '2026-07-01']);
  await days.states(SERIES, [date]);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(calls).toEqual([[['2026-09', '2026-08'], today]]);
  await days.read(SERIES, [date]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(calls).toHaveLength(1);
  clock.pass(DAY);
  await days.read(SERIES, [date]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(calls.slice(1)).toEqual([[[MONTH], today + 1]]);
  expect(await store.unused(9)).toContainEqual({ ...PLACE, usedOn: today + 1 });
});

it('the close sends the last uses, and what is read after it starts no timer', async () => {
  const calls: string[][] = [];
  const { days, clock, fetch } = openDays(undefined, (store) => ({
    ...store,
    async used(months) {
      calls.push(months.map(({ month }) => month));
    },
  }));
  const [date, other] = [`${MONTH}-01`, '2026-08-31'];
  await fetch([date, other].map((one) => fetchedDay(one, [rowOf(one, 1)], clock.now())));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await days.read(SERIES, [date]);
  const closed = days.close();
  // A request that outlasts the drain reads while and after its process closes.
  await days.read(SERIES, [other]);
  await closed;
  expect(calls).toEqual([[MONTH]]);
  expect(vi.getTimerCount()).toBe(0);
});
