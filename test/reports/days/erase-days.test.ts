/** The stored days of an erased account: of reports that name it, and of rows that only hold it. */
import { expect, it } from 'vitest';
import { eraseDays } from '../../../src/reports/days/erase-days.js';
import { decodePart } from '../../../src/reports/days/part.js';
import type { KeptAccounts } from '../../../src/reports/history/erasures.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { fetchedDay, MONTH, openDays, PLACE, rowOf, SERIES } from './stored-days.js';

const DATES = [`${MONTH}-01`, `${MONTH}-02`];

/** Days of a report that names these accounts, with rows that hold these others, by fetch. */
async function openWith(asked: string[], ...held: (readonly string[])[]) {
  let erased: { account: string; before: number } | null = null;
  const isErased = ({ asked, held, fetchedFrom }: KeptAccounts) =>
    erased !== null && fetchedFrom < erased.before && [...asked, ...held].includes(erased.account);
  const scene = openDays(isErased);
  const { clock, fetch, days, store } = scene;
  clock.pass(3 * DAY);
  for (const [at, accounts] of held.entries()) {
    await fetch(
      DATES.map((date) => fetchedDay(date, [rowOf(date, at)], clock.now(), { accounts })),
      { asked },
    );
    clock.pass(HOUR);
  }
  return {
    ...scene,
    erase(account: string) {
      erased = { account, before: clock.now() };
      return eraseDays({ days, isErased }, () => false);
    },
    statesLeft: async () => (await days.states(SERIES, DATES)).map(({ revisions }) => revisions.length),
    /** Accounts of all stored rows, whether or not anything names them. */
    async accountsLeft() {
      const names = [...((await store.whole(PLACE))?.parts.keys() ?? [])];
      const parts = [...(await store.parts(PLACE, names)).values()].map((bytes) => decodePart(bytes));
      const lists = parts.flatMap((part) =>
        [...(part?.values() ?? [])].flatMap(({ header }) => header.accounts),
      );
      return [...new Set(lists)].sort();
    },
  };
}

it('all of a report that names the account goes, its name in the index too', async () => {
  const scene = await openWith(['1', '2'], ['1'], ['2']);
  expect(await scene.erase('1')).toBe(2);
  expect(await scene.statesLeft()).toEqual([0, 0]);
  expect(await scene.accountsLeft()).toEqual([]);
  scene.clock.pass(1);
  expect(await scene.store.whole(PLACE)).toBeNull();
  expect(await scene.erase('1')).toBe(0);
});

it('an erasure finds a month that is missing in the list of months', async () => {
  const scene = await openWith(['1', '2'], ['1'], ['2']);
  scene.loseList();
  expect(await scene.erase('1')).toBe(2);
  expect([await scene.statesLeft(), await scene.accountsLeft()]).toEqual([[0, 0], []]);
});

it('of a report that does not name it, the states go whose rows hold it, and no others', async () => {
  const scene = await openWith(['2'], ['1', '2'], ['2'], ['1']);
  expect(await scene.erase('1')).toBe(2);
  expect(await scene.statesLeft()).toEqual([1, 1]);
  expect(await scene.accountsLeft()).toEqual(['2']);
  expect(await scene.erase('3')).toBe(0);
  expect(await scene.statesLeft()).toEqual([1, 1]);
});

it('a latest state without rows stays as unconfirmed as it was', async () => {
  const scene = await openWith(['2'], ['1', '2']);
  const { clock, days, fetch } = scene;
  const empty = { accounts: [], emptyTail: 'unconfirmed' as const };
  await fetch(
    DATES.map((date) => fetchedDay(date, [], clock.now(), empty)),
    { asked: ['2'] },
  );
  clock.pass(HOUR);
  expect(await scene.erase('1')).toBe(2);
  const shown = await days.read(SERIES, DATES);
  expect([...shown.values()].map(({ header }) => header.emptyTail)).toEqual(['unconfirmed', 'unconfirmed']);
});

it('one month that cannot be read does not keep the others from being erased', async () => {
  const scene = await openWith(['1'], ['1']);
  const { whole } = scene.store;
  const before = { series: 'another', month: '2026-01' };
  await scene.store.write([
    {
      ...before,
      stamp: 0,
      index: Buffer.from('x'),
      order: 0,
      named: new Map(),
      parts: new Map(),
      earlier: new Map(),
      dropped: [],
      ttlMs: null,
    },
  ]);
  scene.store.whole = async (place) => {
    if (place.series === before.series) throw new StoreUnavailable('away');
    return whole.call(scene.store, place);
  };
  await expect(scene.erase('1')).rejects.toThrow('away');
  expect(await scene.statesLeft()).toEqual([0, 0]);
});

it('rows of it that nothing names any more go too', async () => {
  const scene = await openWith(['2']);
  const { store, clock, fetch } = scene;
  const rows = [rowOf(DATES[0] as string, 1, 'a'), rowOf(DATES[0] as string, 2, 'b')];
  const day = (order: object[], accounts: string[]) =>
    fetchedDay(DATES[0] as string, order, clock.now(), { accounts });
  await fetch([day(rows, ['1'])], { asked: ['2'] });
  clock.pass(HOUR);
  await fetch([day(rows.toReversed(), ['2'])], { asked: ['2'] });
  expect((await store.whole(PLACE))?.parts.size).toBe(2);
  await scene.erase('3');
  expect((await store.whole(PLACE))?.parts.size).toBe(1);
  expect(await scene.accountsLeft()).toEqual(['2']);
});

it('gathered days keep their own accounts: erasing one takes its days alone', async () => {
  const scene = openDays();
  const { clock, days, store, fetch } = scene;
  for (const day of [1, 2, 3, 4, 5, 6]) {
    clock.set(`${MONTH}-0${day}T12:00:00.000Z`);
    clock.pass(9 * DAY);
    const date = `${MONTH}-0${day}`;
    await fetch([fetchedDay(date, [rowOf(date, day)], clock.now(), { accounts: [`${day % 2}`] })], {
      asked: ['9'],
    });
  }
  const sweep = scene.createSweep();
  await sweep();
  await sweep();
  expect((await store.whole(PLACE))?.parts.size).toBe(1);
  const isErased = ({ held }: KeptAccounts) => held.includes('1');
  expect(await eraseDays({ days, isErased }, () => false)).toBe(3);
  const dates = [1, 2, 3, 4, 5, 6].map((day) => `${MONTH}-0${day}`);
  expect([...(await days.read(SERIES, dates)).keys()]).toEqual([dates[1], dates[3], dates[5]]);
});
