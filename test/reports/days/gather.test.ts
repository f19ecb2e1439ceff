/** Rows of final days that lie in many parts are gathered into few, and nothing that anybody sees changes. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY, HOUR } from '../../support/test-clock.js';
import {
  allShown,
  bytesOf,
  DATES,
  fetchDaily,
  fetchedDay,
  openDays,
  PLACE,
  partsOfFinals,
  rowOf,
} from './stored-days.js';

const NAMES = Array.from({ length: 18 }, (_, at) => createHash('sha256').update(`${at}`).digest('hex'));
const TO = '2026-10-08';

/** Rows of a day with a few values, and another order of them now and then. */
const dayRows = (date: string, value: number, isTurned: boolean) => {
  const rows = [rowOf(date, value, 'a'), rowOf(date, value, 'b'), rowOf(date, value + 1, 'a')];
  return isTurned ? rows.reverse() : rows;
};

it('whatever was fetched in a month, gathering changes nothing that reports and history show', async () => {
  const fetches = fc.array(
    fc.record({
      // Days of the month; those of its end are never final below.
      from: fc.integer({ min: 1, max: 30 }),
      length: fc.integer({ min: 1, max: 12 }),
      value: fc.integer({ min: 1, max: 3 }),
      isTurned: fc.boolean(),
      isFlawed: fc.boolean(),
      passes: fc.integer({ min: 1, max: 60 }),
    }),
    { minLength: 4, maxLength: 16 },
  );
  await fc.assert(
    fc.asyncProperty(fetches, async (all) => {
      const scene = openDays();
      const sweep = scene.createSweep();
      for (const { from, length, value, isTurned, isFlawed, passes } of all) {
        const flaws = isFlawed ? { flaws: [{ code: 'duplicate_rows' as const }] } : {};
        const some = DATES.slice(from - 1, from - 1 + length);
        const { clock } = scene;
        await scene.fetch(
          some.map((date) => fetchedDay(date, dayRows(date, value, isTurned), clock.now(), flaws)),
        );
        const before = await allShown(scene);
        await sweep();
        expect(await allShown(scene)).toEqual(before);
        clock.pass(passes * HOUR);
      }
    }),
    { numRuns: 8 },
  );
});

it('thirty days that were fetched on thirty dates are gathered into one part, with the same bytes, hashes and states', async () => {
  const scene = openDays();
  await fetchDaily(scene, ['2026-09-01', TO], 9, (date) => [rowOf(date, 1)]);
  expect(await partsOfFinals(scene)).toBe(30);
  const before = await allShown(scene);
  expect(before.days).toHaveLength(30);
  const sweep = scene.createSweep();
  await sweep();
  expect(await partsOfFinals(scene)).toBe(1);
  expect(await allShown(scene)).toEqual(before);
  await sweep();
  expect((await scene.store.whole(PLACE))?.parts.size).toBe(1);
  expect(await allShown(scene)).toEqual(before);
  // There is nothing left to do.
  const { stamp } = (await scene.store.whole(PLACE)) ?? { stamp: 0 };
  scene.clock.pass(2 * DAY);
  await sweep();
  expect((await scene.store.whole(PLACE))?.stamp).toBe(stamp);
});

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
