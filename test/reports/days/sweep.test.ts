/** What the sweep removes: parts that nothing names, what is past retention, and what has no room. */
import { describe, expect, it } from 'vitest';
import { decodeMonth } from '../../../src/reports/days/month.js';
import { dayNumber, daysBetween } from '../../../src/reports/query/days.js';
import type { DaysStore, MonthPlace } from '../../../src/store/days-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import {
  allShown,
  bytesOf,
  fetchedDay,
  openDays,
  PLACE,
  rowOf,
  SERIES,
  type StoredDays,
} from './stored-days.js';

const FIRST = '2026-09-01';
const NO_PARTS = { named: new Map(), parts: new Map(), earlier: new Map() };

const placeOf = (month: string, series = SERIES): MonthPlace => ({ series, month });
const whole = ({ store }: StoredDays, place = PLACE) => store.whole(place);
const partsIn = async (scene: StoredDays, place = PLACE) => [
  ...((await whole(scene, place))?.parts.keys() ?? []),
];
const statesOf = async ({ days }: StoredDays, date: string, series = SERIES) =>
  (await days.states(series, [date]))[0]?.revisions ?? [];
const shownOf = async ({ days }: StoredDays, date: string, series = SERIES) =>
  (await days.read(series, [date])).get(date)?.body.toString();

/** Fetches a day with rows of these values, an hour apart. */
async function fetchValues(scene: StoredDays, date: string, values: readonly number[], series = SERIES) {
  for (const value of values) {
    await scene.fetch([fetchedDay(date, [rowOf(date, value)], scene.clock.now())], { series });
    scene.clock.pass(HOUR);
  }
}

/** Two days after the day, so that its states are kept. */
function openAfter(date: string, ...options: Parameters<typeof openDays>): StoredDays {
  const scene = openDays(...options);
  scene.clock.set(`${date}T12:00:00.000Z`);
  scene.clock.pass(2 * DAY);
  return scene;
}

/** A store of a server that tells its memory. */
const withRoom = (room: { maxBytes: number; excessBytes: number }) => (store: DaysStore) => ({
  ...store,
  room: () => room,
});

describe('parts that nothing names', () => {
  /** Other order of the same rows: the former part is shown no more. */
  async function reorder(scene: StoredDays) {
    const rows = [rowOf(FIRST, 1, 'a'), rowOf(FIRST, 2, 'b')];
    await scene.fetch([fetchedDay(FIRST, rows, scene.clock.now())]);
    scene.clock.pass(HOUR);
    await scene.fetch([fetchedDay(FIRST, rows.toReversed(), scene.clock.now())]);
  }

  it('are removed by the second turn that finds them so: a reader of the first one still has its rows', async () => {
    const scene = openAfter(FIRST);
    await reorder(scene);
    const sweep = scene.createSweep();
    expect(await partsIn(scene)).toHaveLength(2);
    await sweep();
    expect(await partsIn(scene)).toHaveLength(2);
    await sweep();
    expect(await partsIn(scene)).toHaveLength(1);
    expect(await shownOf(scene, FIRST)).toContain('"b"');
  });

  it('stay where a fetch writes between look and change, and go with a later turn', async () => {
    let interfere: (() => Promise<unknown>) | null = null;
    const scene = openAfter(FIRST, undefined, (store) => ({
      ...store,
      async write(writes) {
        const own = interfere;
        interfere = null;
        await own?.();
        return store.write(writes);
      },
    }));
    await reorder(scene);
    const sweep = scene.createSweep();
    await sweep();
    interfere = () => fetchValues(scene, FIRST, [7]);
    await sweep();
    expect(await shownOf(scene, FIRST)).toContain('"spent":7');
    expect(await statesOf(scene, FIRST)).toHaveLength(2);
    await sweep();
    await sweep();
    expect(await shownOf(scene, FIRST)).toContain('"spent":7');
    expect(await partsIn(scene)).toHaveLength(2);
  });

  it('are left alone while the month has no index yet: they are large ones of a write under way', async () => {
    const scene = openAfter(FIRST);
    const sweep = scene.createSweep();
    await fetchValues(scene, FIRST, [1]);
    const there = await scene.store.whole(PLACE);
    let isUnderWay = true;
    const { whole } = scene.store;
    scene.store.whole = async (place) =>
      isUnderWay
        ? { stamp: 0, index: null, earlier: new Map(), parts: there?.parts ?? new Map() }
        : whole(place);
    await sweep();
    isUnderWay = false;
    await sweep();
    expect(await shownOf(scene, FIRST)).toContain('"spent":1');
  });
});

describe('a month that did not change', () => {
  it('is looked at once a day', async () => {
    const looks: string[] = [];
    const scene = openAfter(FIRST, undefined, (store) => ({
      ...store,
      whole(place) {
        looks.push(place.month);
        return store.whole(place);
      },
    }));
    await fetchValues(scene, FIRST, [1]);
    const sweep = scene.createSweep();
    const first = await sweep();
    scene.clock.pass(HOUR);
    expect(await sweep()).toEqual(first);
    expect(looks).toHaveLength(1);
    scene.clock.pass(DAY);
    await sweep();
    expect(looks).toHaveLength(2);
    await fetchValues(scene, FIRST, [1]);
    await sweep();
    expect(looks).toHaveLength(3);
  });
});

describe('past retention', () => {
  it('a month keeps what plain reports show, without history, and ends after 30 days', async () => {
    const scene = openAfter(FIRST);
    await fetchValues(scene, FIRST, [1, 2]);
    const sweep = scene.createSweep({ retentionDays: 32 });
    scene.clock.set('2026-11-01T12:00:00.000Z');
    expect(await sweep()).toMatchObject({ expired: 0 });
    expect(await statesOf(scene, FIRST)).toHaveLength(2);
    scene.clock.pass(DAY);
    expect(await sweep()).toMatchObject({ expired: 1 });
    expect(await statesOf(scene, FIRST)).toEqual([]);
    expect(await shownOf(scene, FIRST)).toContain('"spent":2');
    await sweep();
    expect((await whole(scene))?.earlier.size).toBe(0);
    expect(await partsIn(scene)).toHaveLength(1);
    scene.clock.pass(29 * DAY);
    expect(await sweep()).toMatchObject({ expired: 0 });
    expect(await shownOf(scene, FIRST)).toContain('"spent":2');
    scene.clock.pass(DAY);
    expect(await shownOf(scene, FIRST)).toBeUndefined();
    await sweep();
    await sweep();
    expect(await whole(scene)).toBeNull();
    expect(await scene.store.months(null, 9)).toEqual([]);
  });

  it('a month keeps its history while the clocks of the process and of the store disagree', async () => {
    const scene = openAfter(FIRST);
    await fetchValues(scene, FIRST, [1, 2]);
    scene.clock.pass(900 * DAY);
    expect(await scene.createSweep({}, -900 * DAY)()).toMatchObject({ expired: 0 });
    expect(await statesOf(scene, FIRST)).toHaveLength(2);
    expect(await scene.createSweep()()).toMatchObject({ expired: 1 });
  });
});

describe('without room for earlier states', () => {
  async function openHistory(wrap?: (store: DaysStore) => DaysStore) {
    const scene = openAfter(FIRST, undefined, wrap);
    for (const month of ['2026-07', '2026-08', '2026-09']) await fetchValues(scene, `${month}-01`, [1, 2, 3]);
    return scene;
  }
  const earlierIn = async (scene: StoredDays) =>
    await Promise.all(
      ['2026-07', '2026-08', '2026-09'].map(async (month) => (await statesOf(scene, `${month}-01`)).length),
    );

  it('those of the oldest months go first, said in the log, and moments before the latest are unknown', async () => {
    const scene = await openHistory();
    const { earlier } = await scene.createSweep()();
    const sweep = scene.createSweep({ maxBytes: earlier - 1 });
    const left = await sweep();
    expect(await earlierIn(scene)).toEqual([1, 3, 3]);
    expect(left.earlier).toBeLessThan(earlier);
    expect((await statesOf(scene, '2026-07-01'))[0]).toMatchObject({ removedBefore: true });
    expect(await shownOf(scene, '2026-07-01')).toContain('"spent":3');
    expect(await partsIn(scene, placeOf('2026-07'))).toHaveLength(1);
    expect(scene.log.lines.at(-1)).toMatchObject({
      level: 'warn',
      months: 1,
      upTo: '2026-07',
      msg: expect.stringContaining('history is full'),
    });
    expect(await sweep()).toMatchObject({ earlier: left.earlier });
  });

  it('a quarter of the memory of the store is the limit, if it is less', async () => {
    const scene = await openHistory(withRoom({ maxBytes: 16, excessBytes: -1 }));
    expect(await scene.createSweep({ currentMaxBytes: 100_000 })()).toMatchObject({ earlier: 0 });
    expect(await earlierIn(scene)).toEqual([1, 1, 1]);
  });

  it('nothing beyond the latest is kept above 85 % of the memory, and nothing is gathered', async () => {
    const scene = await openHistory(withRoom({ maxBytes: 1_000_000, excessBytes: 10_000 }));
    expect(await scene.createSweep()()).toMatchObject({ earlier: 0 });
    expect(await earlierIn(scene)).toEqual([1, 1, 1]);
    expect(scene.log.messages('warn')).toEqual([expect.stringContaining('Redis is almost full')]);
  });

  it('a fetch at the same moment loses nothing', async () => {
    let isBusy = false;
    const scene: StoredDays = await openHistory((store) => ({
      ...store,
      async write(writes) {
        if (isBusy && writes.some(({ dropped }) => dropped.length > 0)) {
          isBusy = false;
          await fetchValues(scene, '2026-07-01', [4]);
        }
        return store.write(writes);
      },
    }));
    const sweep = scene.createSweep({ maxBytes: 0 });
    isBusy = true;
    await sweep();
    expect(await statesOf(scene, '2026-07-01')).toHaveLength(4);
    expect(await shownOf(scene, '2026-07-01')).toContain('"spent":4');
  });
});

describe('without room for the latest states', () => {
  const SERIES_OF = ['a', 'b', 'c'];
  async function openCache() {
    const scene = openAfter(FIRST);
    for (const series of SERIES_OF) await fetchValues(scene, FIRST, [1], series);
    const { current } = await scene.createSweep()();
    return { scene, current };
  }
  const left = async (scene: StoredDays) =>
    (await Promise.all(SERIES_OF.map((series) => shownOf(scene, FIRST, series)))).map(
      (one) => one !== undefined,
    );

  it('months that were used longest ago go, by reads and fetches, and leave the list', async () => {
    const { scene, current } = await openCache();
    scene.clock.pass(DAY);
    const today = Math.floor(scene.clock.now() / DAY);
    await scene.store.used([placeOf('2026-09', 'a')], today);
    await fetchValues(scene, FIRST, [1], 'b');
    const sweep = scene.createSweep({ currentMaxBytes: current - 1 });
    await sweep();
    expect(await left(scene)).toEqual([true, true, false]);
    expect(scene.log.lines.at(-1)).toMatchObject({ level: 'warn', months: 1 });
    scene.clock.pass(1);
    await sweep();
    await sweep();
    expect((await scene.store.months(null, 9)).map(({ series }) => series).sort()).toEqual(['a', 'b']);
    // It can be fetched again.
    await fetchValues(scene, FIRST, [5], 'c');
    expect(await shownOf(scene, FIRST, 'c')).toContain('"spent":5');
  });

  it('those unused for longest go where something else fills the memory, before new days are refused', async () => {
    const { scene, current } = await openCache();
    const maxBytes = 20 * current;
    const sweep = scene.createSweep();
    scene.store.room = () => ({ maxBytes, excessBytes: 0.03 * maxBytes - 1 });
    await sweep();
    expect(await left(scene)).toEqual([true, true, true]);
    scene.store.room = () => ({ maxBytes, excessBytes: 0.03 * maxBytes + 1 });
    await sweep();
    expect((await left(scene)).filter((isLeft) => isLeft)).toHaveLength(1);
  });

  it('half of the memory of the store is the limit, if none is configured', async () => {
    const { scene, current } = await openCache();
    scene.store.room = () => ({ maxBytes: 2 * current + 2, excessBytes: -1 });
    const sweep = scene.createSweep();
    await sweep();
    expect(await left(scene)).toEqual([true, true, true]);
    scene.store.room = () => ({ maxBytes: 2 * current - 2, excessBytes: -1 });
    await sweep();
    expect((await left(scene)).filter((isLeft) => isLeft)).toHaveLength(2);
  });
});

it('months that are missing in their list are found again within a day', async () => {
  const scene = openAfter(FIRST);
  await fetchValues(scene, FIRST, [1]);
  const sweep = scene.createSweep();
  await sweep();
  scene.loseList();
  scene.clock.pass(HOUR);
  await sweep();
  expect(await scene.store.months(null, 9)).toEqual([]);
  scene.clock.pass(DAY);
  expect((await sweep()).current).toBeGreaterThan(0);
  expect(await scene.store.months(null, 9)).toEqual([PLACE]);
  expect(scene.log.lines.at(-1)).toMatchObject({ level: 'warn', months: 1 });
});

it('a month without an index that is written while the sweep removes its rest loses nothing', async () => {
  let isRacing = false;
  const scene = openAfter(FIRST, undefined, (store) => ({
    ...store,
    async whole(place) {
      const found = await store.whole(place);
      if (isRacing) {
        isRacing = false;
        await scene.fetch([fetchedDay(FIRST, [rowOf(FIRST, 7)], scene.clock.now())]);
      }
      return found;
    },
  }));
  await fetchValues(scene, FIRST, [1]);
  const sweep = scene.createSweep();
  await scene.store.remove(PLACE, (await whole(scene))?.stamp ?? 0);
  await scene.store.write([
    { ...PLACE, stamp: 0, index: Buffer.from([1]), order: 0, ttlMs: 1, dropped: [], ...NO_PARTS },
  ]);
  scene.clock.pass(2);
  await sweep();
  isRacing = true;
  await sweep();
  expect(await shownOf(scene, FIRST)).toContain('"spent":7');
});

it('a gathering that finds no room is left out: nothing is lost, and the sweep goes on', async () => {
  const scene = openDays(undefined, (store) => ({
    ...store,
    async write(writes) {
      if (writes.some(({ parts }) => parts.size > 0) && isFull) throw new StoreUnavailable('full', 'no-room');
      return store.write(writes);
    },
  }));
  let isFull = false;
  for (const date of daysBetween('2026-09-01', '2026-09-06')) {
    scene.clock.set(`${date}T12:00:00.000Z`);
    scene.clock.pass(9 * DAY);
    await fetchValues(scene, date, [dayNumber(date) as number]);
  }
  const [before, bytes] = [await allShown(scene), await bytesOf(scene)];
  isFull = true;
  const sweep = scene.createSweep();
  await sweep();
  expect([await allShown(scene), await bytesOf(scene)]).toEqual([before, bytes]);
  isFull = false;
  await sweep();
  const index = decodeMonth((await whole(scene))?.index as Buffer);
  expect(new Set([...(index?.days.values() ?? [])].map(({ latest }) => latest?.part)).size).toBe(1);
  expect(await allShown(scene)).toEqual(before);
});

describe('a turn that the store refuses in its midst', () => {
  const SERIES_OF_ALL = ['a', 'b', 'c'];

  /** The month of the second series cannot be read. */
  async function openBreaking() {
    const state = { refused: 'b' as string | null };
    const looks: string[] = [];
    const scene = openAfter(FIRST, undefined, (store) => ({
      ...store,
      async months(...page) {
        if (state.refused === 'list') throw new StoreUnavailable('away');
        return await store.months(...page);
      },
      async whole(place) {
        if (place.series === state.refused) throw new StoreUnavailable('away');
        looks.push(place.series);
        return await store.whole(place);
      },
    }));
    for (const series of SERIES_OF_ALL) await fetchValues(scene, FIRST, [1], series);
    return { scene, sweep: scene.createSweep(), looks, state };
  }

  it('fails, and the next one looks at the months that are left', async () => {
    const { scene, sweep, looks, state } = await openBreaking();
    await expect(sweep()).rejects.toThrow(StoreUnavailable);
    expect(looks.toSorted()).toEqual(['a', 'c']);
    await scene.fetch([fetchedDay(FIRST, [rowOf(FIRST, 1)], scene.clock.now())], { series: 'd' });
    state.refused = 'list';
    scene.clock.pass(MINUTE);
    await expect(sweep()).rejects.toThrow(StoreUnavailable);
    state.refused = null;
    scene.clock.pass(MINUTE);
    const { current } = await sweep();
    expect(looks.toSorted()).toEqual(['a', 'b', 'c', 'd']);
    const sizes = [...SERIES_OF_ALL, 'd'].map((series) => bytesOf(scene, placeOf(PLACE.month, series)));
    expect(current).toBe((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0));
  });

  it('and an hour later looks at all that changed', async () => {
    const { scene, sweep, looks } = await openBreaking();
    await expect(sweep()).rejects.toThrow(StoreUnavailable);
    await fetchValues(scene, FIRST, [2], 'a');
    await expect(sweep()).rejects.toThrow(StoreUnavailable);
    expect(looks.toSorted()).toEqual(['a', 'a', 'c']);
  });
});
