/** Reads of days: with the writes under way, and where something stored is damaged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeMonth } from '../../../src/reports/days/month.js';
import { emptyMonth } from '../../../src/reports/days/open-months.js';
import type { DaysStore } from '../../../src/store/days-port.js';
import { openInMemory } from '../../support/shared-registry.js';
import { daysOn } from '../history/on-disk.js';
import { changeOf, dateIn, fetchOf, MONTH, type SaidDay } from './fetches.js';

const SERIES = 's';
const PLACE = { series: SERIES, month: MONTH };

const changed = (at: number, days: readonly SaidDay[], more: Parameters<typeof fetchOf>[2] = {}) =>
  changeOf(SERIES, fetchOf(at, days, more));
const oneDay = (at: number, spent = at) => changed(at, [{ day: 5, spent }]);

/** Counts damage, and calls of the store. */
async function open() {
  const { days: store } = await openInMemory();
  const seen = { damaged: 0, calls: 0 };
  function on(more: Partial<DaysStore> = {}) {
    const counting = new Proxy(
      { ...store, ...more },
      {
        get(target, name) {
          seen.calls += 1;
          return Reflect.get(target, name) as unknown;
        },
      },
    );
    return daysOn(counting, {
      onDamaged() {
        seen.damaged += 1;
      },
    });
  }
  return { store, seen, on };
}

type Days = ReturnType<typeof daysOn>;

/** What plain reports show, by day of the month. */
async function shown(days: Days, wanted = [5, 6]): Promise<Readonly<Record<string, string>>> {
  const found = await days.read(SERIES, wanted.map(dateIn));
  return Object.fromEntries([...found].map(([date, { body }]) => [date.slice(-2), body.toString()]));
}
const textOf = (day: number, spent: number) => fetchOf(1, [{ day, spent }]).days[0]?.body.toString() ?? '';
const stateOf = async (days: Days, day = 5) => (await days.states(SERIES, [dateIn(day)]))[0]?.revisions ?? [];

describe('writes under way', () => {
  it('are read from the call on, by days and in history, before the store has them', async () => {
    const { seen, on } = await open();
    const days = on();
    days.months.add(oneDay(1));
    expect(await shown(days)).toEqual({ '05': textOf(5, 1) });
    const [revision] = await stateOf(days);
    expect(revision).toMatchObject({ digest: 'rows-1' });
    const [entry] = await days.rows(SERIES, [
      { day: dateIn(5), revision: revision as NonNullable<typeof revision> },
    ]);
    expect(entry?.body.toString()).toBe(textOf(5, 1));
    const before = seen.calls;
    expect([...days.beingWritten(SERIES, [dateIn(5), dateIn(6)]).keys()]).toEqual([dateIn(5)]);
    expect(seen.calls).toBe(before);
  });

  it('of this process that come after a read began are not read', async () => {
    const { on } = await open();
    const days = on();
    const reading = shown(days);
    days.months.add(oneDay(1));
    expect(await reading).toEqual({});
  });

  it('are the same whether or not the store has them already, and whatever others have written', async () => {
    const saying = fc.record({ day: fc.constantFrom(5, 6), spent: fc.nat(2), reversed: fc.boolean() });
    const all = fc.uniqueArray(saying, { minLength: 1, maxLength: 2, selector: ({ day }) => day });
    const step = fc.record({
      said: all,
      isFlawed: fc.boolean(),
      isWritten: fc.boolean(),
      isOther: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const { on, seen } = await open();
        const [days, other] = [on(), on()];
        const newest: Record<string, string> = {};
        for (const [n, { said, isFlawed, isWritten, isOther }] of steps.entries()) {
          const flaws = [{ code: 'rows_capped', rows: 2 }] as const;
          // The second day of a flawed answer is flawed.
          const marked = said.map((one, at) => (isFlawed && at > 0 ? { ...one, more: { flaws } } : one));
          const change = changed(n + 1, marked);
          if (isOther) await other.write(change);
          else {
            days.months.add(change);
            if (isWritten) await days.write(change);
          }
          for (const [at, entry] of fetchOf(n + 1, marked).days.entries())
            newest[dateIn((marked[at] as SaidDay).day).slice(-2)] = entry.body.toString();
          expect(await shown(days)).toEqual(newest);
        }
        expect(seen.damaged).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a part that cannot be read', () => {
  /** The store without parts of these names. */
  function without(store: DaysStore, ...names: readonly string[]): Pick<DaysStore, 'read' | 'parts'> {
    const left = (parts: ReadonlyMap<string, Buffer>) =>
      new Map([...parts].filter(([one]) => !names.includes(one)));
    return {
      parts: async (...args) => left(await store.parts(...args)),
      read: async (...args) =>
        (await store.read(...args)).map((one) => one && { ...one, parts: left(one.parts) }),
    };
  }

  it('makes its days absent, and the next fetch stores them again, for older revisions of the rows too', async () => {
    const { store, seen, on } = await open();
    const before = on();
    await before.write(
      changed(1, [
        { day: 5, spent: 1 },
        { day: 6, spent: 1 },
      ]),
    );
    await before.write(oneDay(2));
    await before.write(oneDay(3, 1));
    await before.write(changed(4, [{ day: 7, spent: 4 }]));
    const days = on(without(store, 'p1', 'p3'));
    expect(await shown(days, [5, 6, 7])).toEqual({ '07': textOf(7, 4) });
    expect(seen.damaged).toBe(1);
    const unreadable = days.unreadableOf(PLACE);
    expect([...unreadable].sort()).toEqual(['p1', 'p3']);
    await days.write(
      changed(
        5,
        [
          { day: 5, spent: 1 },
          { day: 6, spent: 1 },
        ],
        { unreadable },
      ),
    );
    expect(await shown(days, [5, 6, 7])).toEqual({
      '05': textOf(5, 1),
      '06': textOf(6, 1),
      '07': textOf(7, 4),
    });
    const revisions = await stateOf(days);
    expect(revisions.map(({ part }) => part)).toEqual(['p5', 'p2', 'p5']);
    expect(
      await days.rows(
        SERIES,
        revisions.map((revision) => ({ day: dateIn(5), revision })),
      ),
    ).not.toContain(null);
  });

  it('that was replaced since the index was read is read under its new name', async () => {
    const { store, seen, on } = await open();
    await on().write(oneDay(1));
    const [old] = await store.read(SERIES, [{ month: MONTH, days: [5] }]);
    await on().write(changed(2, [{ day: 5, spent: 1 }], { unreadable: new Set(['p1']) }));
    const later = without(store, 'p1');
    const answers: DaysStore['read'][] = [async () => (old ? [{ ...old, parts: new Map() }] : [])];
    const days = on({ ...later, read: (...args) => (answers.pop() ?? later.read)(...args) });
    expect(await shown(days)).toEqual({ '05': textOf(5, 1) });
    expect([seen.damaged, days.unreadableOf(PLACE).size]).toEqual([0, 0]);
  });

  it('of a month that was removed since its index was read is no damage: the days are absent', async () => {
    const { store, seen, on } = await open();
    await on().write(oneDay(1));
    const [old] = await store.read(SERIES, [{ month: MONTH, days: [5] }]);
    await store.remove(PLACE, old?.stamp ?? 0);
    const answers: DaysStore['read'][] = [async () => (old ? [{ ...old, parts: new Map() }] : [])];
    const days = on({ read: (...args) => (answers.pop() ?? store.read)(...args) });
    expect(await shown(days)).toEqual({});
    expect([seen.damaged, days.unreadableOf(PLACE).size]).toEqual([0, 0]);
  });
});

it('a damaged list of earlier revisions leaves the latest, and says that what was before is unknown', async () => {
  const { store, seen, on } = await open();
  for (const at of [1, 2, 3]) await on().write(oneDay(at));
  const damaged = on({
    earlier: async (...args) => {
      const found = await store.earlier(...args);
      return found && { ...found, earlier: new Map([[5, Buffer.from('x')]]) };
    },
  });
  expect(await stateOf(damaged)).toMatchObject([{ digest: 'rows-3', removedBefore: true }]);
  expect(await shown(damaged)).toEqual({ '05': textOf(5, 3) });
  expect(seen.damaged).toBeGreaterThan(0);
  await damaged.write(oneDay(4));
  const after = await stateOf(on());
  expect(after).toMatchObject([{ digest: 'rows-3', removedBefore: true }, { digest: 'rows-4' }]);
});

it('a damaged index is an absent month, which the next write replaces', async () => {
  const { store, seen, on } = await open();
  await on().write(oneDay(1));
  const [whole] = await store.read(SERIES, [{ month: MONTH, days: [] }]);
  const days = on({
    read: async (...args) => (await store.read(...args)).map((one) => one && { ...one, index: null }),
  });
  expect(await shown(days)).toEqual({});
  expect(seen.damaged).toBe(1);
  await days.write(oneDay(2));
  expect(await shown(on())).toEqual({ '05': textOf(5, 2) });
  expect((await stateOf(on())).map(({ digest }) => digest)).toEqual(['rows-2']);
  expect((await store.read(SERIES, [{ month: MONTH, days: [] }]))[0]?.stamp).not.toBe(whole?.stamp);
});

it('history shows no former state as the latest where the index is damaged', async () => {
  const { store, on } = await open();
  const days = on();
  for (const at of [1, 2]) await days.write(oneDay(at));
  const earlier: DaysStore['earlier'] = async (...args) => {
    const found = await store.earlier(...args);
    return found && { ...found, index: null };
  };
  expect(await stateOf(on({ earlier }))).toEqual([]);
});

it('earlier revisions that came with a claim belong to the month as the claim found it, and to no later one', async () => {
  const { store, on } = await open();
  const [days, other] = [on(), on()];
  for (const at of [1, 2]) await days.write(oneDay(at));
  await shown(days);
  const dates = [dateIn(5)];
  const known = days.knownMonths(SERIES, dates);
  const claimed = await store.claim(SERIES, { owner: 'o', names: ['n'], leaseMs: 1000, known });
  await other.write(oneDay(3));
  // Another request of this process reads the month meanwhile.
  await shown(days);
  await days.readClaimed(SERIES, dates, known, claimed);
  await days.write(oneDay(4));
  expect((await stateOf(on())).map(({ digest }) => digest)).toEqual(['rows-1', 'rows-2', 'rows-3', 'rows-4']);
});

it('what another request has read since is at hand when a claim finds it unchanged', async () => {
  const { on } = await open();
  const [days, other] = [on(), on()];
  await shown(days);
  await other.write(oneDay(1));
  expect([...days.shownAtHand(SERIES, [dateIn(5)]).keys()]).toEqual([]);
  await shown(days);
  const [[date, { header }] = ['', { header: null }]] = days.shownAtHand(SERIES, [dateIn(5), dateIn(6)]);
  expect([date, header?.rowCount]).toEqual([dateIn(5), 2]);
});

it('an index whose checksum holds, but which is none, is an absent month too', async () => {
  const { store, seen, on } = await open();
  const rest = { named: new Map(), parts: new Map(), earlier: new Map(), dropped: [] };
  const index = encodeMonth(emptyMonth('bounded'));
  const cut = index.subarray(0, -1);
  await store.write([{ ...PLACE, stamp: 0, index: cut, order: 0, ttlMs: null, ...rest }]);
  expect(await shown(on())).toEqual({});
  expect(seen.damaged).toBe(1);
  await on().write(oneDay(1));
  expect(await shown(on())).toEqual({ '05': textOf(5, 1) });
});
