/** A month that a dashboard fetches every day, with a sweep after each fetch. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { allShown, bytesOf, fetchDaily, openDays, partsOfFinals, rowOf } from './stored-days.js';

const NAMES = Array.from({ length: 18 }, (_, at) => createHash('sha256').update(`${at}`).digest('hex'));

it.each([
  { what: 'do not change', restatedUntil: 0, share: 1 / 3 },
  { what: 'change for three days', restatedUntil: 3, share: 1 / 2 },
])(
  'a month whose days $what is fetched daily for 60 days, and keeps few parts and bytes',
  async ({ restatedUntil, share }) => {
    const rowsAt = (date: string, age: number) =>
      Array.from({ length: 18 }, (_, at) => rowOf(date, 1000 + at + Math.min(age, restatedUntil), NAMES[at]));
    const [swept, plain] = [openDays(), openDays()];
    const sweep = swept.createSweep();
    await fetchDaily(swept, ['2026-09-01', '2026-10-30'], 30, rowsAt, sweep);
    await fetchDaily(plain, ['2026-09-01', '2026-10-30'], 30, rowsAt);
    expect(await allShown(swept)).toEqual(await allShown(plain));
    expect(await partsOfFinals(swept)).toBeLessThanOrEqual(5);
    expect(await bytesOf(swept)).toBeLessThanOrEqual((await bytesOf(plain)) * share);
  },
);
