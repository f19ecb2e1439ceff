/** Rows of final days that lie in many parts are gathered into few, and nothing that anybody sees changes. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY, HOUR } from '../../support/test-clock.js';
import {
  allShown,
  DATES,
  fetchDaily,
  fetchedDay,
  openDays,
  PLACE,
  partsOfFinals,
  rowOf,
  type StoredDays,
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
      from: fc.integer({ min: 1, max: 12 }),
      length: fc.integer({ min: 1, max: 8 }),
      value: fc.integer({ min: 1, max: 2 }),
      accounts: fc.constantFrom(['1'], ['2']),
      isTurned: fc.boolean(),
      isFlawed: fc.boolean(),
      passes: fc.integer({ min: 1, max: 90 }),
    }),
    { minLength: 4, maxLength: 16 },
  );
  await fc.assert(
    fc.asyncProperty(fetches, async (all) => {
      const scene = openDays();
      const sweep = scene.createSweep();
      for (const { from, length, value, accounts, isTurned, isFlawed, passes } of all) {
        const flaws = isFlawed ? { flaws: [{ code: 'duplicate_rows' as const }] } : {};
        const changes = { accounts, ...flaws };
        const some = DATES.slice(from - 1, from - 1 + length);
        const { clock } = scene;
        await scene.fetch(
          some.map((date) => fetchedDay(date, dayRows(date, value, isTurned), clock.now(), changes)),
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

it('a state with the same rows in another order, or of other accounts, keeps its own', async () => {
  const scene = openDays();
  await fetchSix(scene, (date) => dayRows(date, 1, false));
  const { clock, fetch } = scene;
  for (const [value, isTurned, accounts] of [
    [2, false, ['1']],
    [1, true, ['1']],
    [2, false, ['2']],
  ] as const) {
    clock.pass(HOUR);
    const some = DATES.slice(0, 2);
    await fetch(
      some.map((date) => fetchedDay(date, dayRows(date, value, isTurned), clock.now(), { accounts })),
    );
  }
  const before = await allShown(scene);
  const sweep = scene.createSweep();
  for (let turns = 0; turns < 3; turns += 1) {
    await sweep();
    expect(await allShown(scene)).toEqual(before);
  }
  expect(await partsOfFinals(scene)).toBeLessThan(6);
});

/** Six final days, each fetched on a date of its own. @param rowsAt of a day */
async function fetchSix(scene: StoredDays, rowsAt: (date: string) => readonly object[]) {
  for (const date of DATES.slice(0, 6)) {
    scene.clock.set(`${date}T12:00:00.000Z`);
    scene.clock.pass(9 * DAY);
    await scene.fetch([fetchedDay(date, rowsAt(date), scene.clock.now())]);
  }
}

it.each(['fetch', 'gathering'])(
  'a fetch and a gathering at the same moment lose nothing, if the %s is written first',
  async (first) => {
    let between: (() => Promise<unknown>) | null = null;
    const scene = openDays(undefined, (store) => ({
      ...store,
      async write(writes) {
        const own = between;
        between = null;
        await own?.();
        return store.write(writes);
      },
    }));
    await fetchSix(scene, (date) => [rowOf(date, 1)]);
    const other = scene.open();
    const [date = '', last = ''] = [DATES[0], DATES[9]];
    scene.clock.pass(HOUR);
    const fetch = () =>
      other.fetch([date, last].map((one) => fetchedDay(one, [rowOf(one, 2)], scene.clock.now())));
    const sweep = scene.createSweep();
    between = first === 'fetch' ? fetch : sweep;
    await (first === 'fetch' ? sweep : fetch)();
    const shown = await allShown(scene);
    expect(shown.days.map((one) => one?.body.match(/"spent":\d/)?.[0])).toEqual(
      [2, 1, 1, 1, 1, 1, 2].map((spent) => `"spent":${spent}`),
    );
    expect(shown.states.map(({ rows }) => rows?.body.match(/"spent":\d/)?.[0])).toHaveLength(8);
    await sweep();
    await sweep();
    expect(await allShown(scene)).toEqual(shown);
    expect(await allShown(other)).toEqual(shown);
  },
);

it('large days are gathered as they are stored, and one whose rows are damaged stays where it is', async () => {
  let damaged = '';
  const scene = openDays(undefined, (store) => ({
    ...store,
    async parts(place, names) {
      const found = new Map(await store.parts(place, names));
      const bytes = found.get(damaged);
      if (bytes === undefined) return found;
      const changed = Buffer.from(bytes);
      const at = changed.length - 10;
      changed[at] = (changed[at] as number) ^ 1;
      return found.set(damaged, changed);
    },
  }));
  const rowsAt = (date: string) => Array.from({ length: 900 }, (_, at) => rowOf(date, at, NAMES[at % 18]));
  await fetchSix(scene, rowsAt);
  const before = await allShown(scene);
  expect(before.days[0]?.body.length).toBeGreaterThan(65_536);
  const names = [...((await scene.store.whole(PLACE))?.parts.keys() ?? [])];
  damaged = names[2] as string;
  const sweep = scene.createSweep();
  await sweep();
  await sweep();
  const left = [...((await scene.store.whole(PLACE))?.parts.keys() ?? [])];
  expect(left).toHaveLength(2);
  expect(left).toContain(damaged);
  damaged = '';
  expect(await allShown(scene)).toEqual(before);
});
