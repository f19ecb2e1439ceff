/** A fetch of more than 16 MiB of rows was never written down, though nothing else waited: "too much waits". */
import { expect, it } from 'vitest';
import { readDays } from '../../src/reports/history/read.js';
import { dayOf, openHistory, recorderOn } from '../reports/history/on-disk.js';
import { NOON } from '../support/test-clock.js';

const DATES = ['2026-11-01', '2026-11-02', '2026-11-03'];

it('a report is written down however large it is, a few days at once', async () => {
  const { history } = await openHistory();
  const writes: number[] = [];
  const write: typeof history.write = (series, days) => {
    writes.push(days.length);
    return history.write(series, days);
  };
  const recorder = recorderOn({ ...history, write });
  const days = DATES.map((date) => {
    const day = dayOf(date, 1, NOON);
    return { ...day, body: Buffer.from(day.body.toString().padEnd(6_291_456)) };
  });
  await recorder.record({ series: 's', days });
  expect(recorder.events).toEqual({ appended: DATES.length });
  expect(writes).toEqual([1, 1, 1]);
  const readable = { store: history, isErased: () => false, enabled: true };
  const known = await readDays(readable, {
    series: 's',
    dates: DATES,
    generation: 'g',
    moment: { at: NOON },
  });
  expect(known.map(({ entry }) => entry.body.equals(days[0]?.body ?? Buffer.of()))[0]).toBe(true);
  await recorder.record({ series: 's', days: DATES.map((date) => dayOf(date, 2, NOON + 1_000)) });
  expect(writes).toEqual([1, 1, 1, 3]);
});
