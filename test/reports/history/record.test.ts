/** History on a real store: what is written down, read back, erased and swept. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPurges } from '../../../src/reports/cache/purges.js';
import type { Days } from '../../../src/reports/days/days.js';
import { eraseDays } from '../../../src/reports/days/erase-days.js';
import { daysOfMonth } from '../../../src/reports/days/whole-month.js';
import { createErasures } from '../../../src/reports/history/erasures.js';
import { readDays } from '../../../src/reports/history/read.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import type { DaysStore } from '../../../src/store/days-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { openReplica } from '../../support/shared-registry.js';
import { DAY, HOUR, NOON } from '../../support/test-clock.js';
import { RULES, rowsEntry } from '../rows/entries.js';
import { dayOf, daysOn, openHistory, recorderOn } from './on-disk.js';

const SERIES = 's';
const DATES = ['2026-11-01', '2026-11-02'];

const openDays = async () => daysOn((await openHistory()).days);
const read = (days: Days, atMs: number, generation = 'g') =>
  readDays(
    { days, isErased: () => false, enabled: true, onCut: () => {} },
    { series: SERIES, dates: DATES, generation, moment: { at: atMs }, rules: RULES },
  );
const rowsAt = async (days: Days, atMs: number) =>
  (await read(days, atMs)).map(({ entry }) => entry.body.toString());
const fetchOf = (spent: number, atMs: number) => ({
  series: SERIES,
  days: DATES.map((date) => dayOf(date, spent, atMs)),
});

describe('a day that was fetched', () => {
  it('is written down where its rows changed, and read as of any moment since', async () => {
    const days = await openDays();
    const { record, events } = recorderOn(days);
    await record(fetchOf(1, NOON));
    await record(fetchOf(1, NOON + HOUR / 2));
    await record(fetchOf(2, NOON + 2 * HOUR));
    expect(events).toEqual({ appended: 4, confirmed: 2 });
    const [first, second] = [await rowsAt(days, NOON), await rowsAt(days, NOON + 3 * HOUR)];
    expect(first).toEqual(DATES.map((date) => `{"date":"${date}","spent":1}`));
    expect(second).toEqual(DATES.map((date) => `{"date":"${date}","spent":2}`));
    expect(await rowsAt(days, NOON + 2 * HOUR - 1)).toEqual(first);
  });

  it('is not known before, nor under another proof', async () => {
    const days = await openDays();
    await recorderOn(days).record(fetchOf(1, NOON));
    await expect(read(days, NOON - 1)).rejects.toMatchObject({
      code: 'not_known_then',
      options: { detail: expect.stringContaining(new Date(NOON).toISOString()) },
    });
    await expect(read(days, NOON, 'h')).rejects.toMatchObject({ code: 'not_known_then' });
  });

  it('is recorded with its token, its age and its number of rows', async () => {
    const days = await openDays();
    await recorderOn(days).record(fetchOf(1, NOON));
    const states = await days.states(SERIES, DATES);
    expect(states.map(({ asked }) => asked)).toEqual([['1'], ['1']]);
    expect(states[0]?.revisions).toMatchObject([{ credential: 'token', ageDays: 3, rowCount: 1 }]);
  });

  it('is not written down where the platform decides how long it is good, or it may be no report', async () => {
    const days = await openDays();
    const { record } = recorderOn(days);
    const [day] = fetchOf(1, NOON).days;
    for (const change of [{ originMs: 5 }, { doubt: 'odd' }, { splitFrom: null }]) {
      const header = { ...day?.header, ...change } as NonNullable<typeof day>['header'];
      await record({ series: SERIES, days: [{ body: Buffer.from('{}'), header }] });
    }
    expect(await days.store.read(SERIES, [{ month: '2026-11', days: [1, 2] }])).toEqual([null]);
  });

  it('by calls that end in any order is what the latest of them said', async () => {
    const fetches = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer()), {
      minLength: 2,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(fetches, async (all) => {
        const days = await openDays();
        const { record } = recorderOn(days);
        const made = all.map(([spent, place], at) => ({ fetched: fetchOf(spent, NOON + at * 1000), place }));
        const arrived = made.toSorted((a, b) => a.place - b.place);
        await Promise.all(arrived.map(({ fetched }) => record(fetched)));
        expect((await rowsAt(days, NOON + DAY))[0]).toContain(`"spent":${all.at(-1)?.[0]}`);
      }),
      { numRuns: 8 },
    );
  });
});

describe('while the store is away', () => {
  function breakable(store: DaysStore) {
    const outage = { away: false };
    const breaks =
      <In extends unknown[], Out>(call: (...asked: In) => Promise<Out>) =>
      async (...asked: In) => {
        if (outage.away) throw new StoreUnavailable('away');
        return await call(...asked);
      };
    const { write, earlier } = store;
    return { outage, days: daysOn({ ...store, write: breaks(write), earlier: breaks(earlier) }) };
  }
  const lacksAt = async (days: Days, atMs: number) => (await read(days, atMs)).map(({ lacks }) => lacks);

  it('days are missed, counted, and marked when it is back', async () => {
    const store = await openHistory();
    const { days, outage } = breakable(store.days);
    const recorder = recorderOn(days);
    await recorder.record(fetchOf(1, NOON));
    outage.away = true;
    await expect(read(days, NOON)).rejects.toMatchObject({ code: 'not_ready' });
    await recorder.record(fetchOf(2, NOON + HOUR));
    outage.away = false;
    await recorder.record(fetchOf(3, NOON + 2 * HOUR));
    expect(recorder.events).toEqual({ appended: 4, missed: 2 });
    expect(await lacksAt(days, NOON + HOUR - 1)).toEqual([null, null]);
    expect(await lacksAt(days, NOON + HOUR)).toEqual(['missed', 'missed']);
    expect(await lacksAt(days, NOON + 2 * HOUR)).toEqual([null, null]);
  });

  it('what was missed is marked, though nobody fetches it again, and where another replica went on', async () => {
    const store = await openHistory();
    const { days, outage } = breakable(store.days);
    const [recorder, other] = [recorderOn(days), recorderOn(daysOn(store.days))];
    await recorder.record(fetchOf(1, NOON));
    outage.away = true;
    await recorder.record(fetchOf(2, NOON + HOUR));
    await recorder.markMissed();
    outage.away = false;
    await recorder.markMissed('another series');
    expect(await lacksAt(days, NOON + HOUR)).toEqual([null, null]);
    await recorder.markMissed();
    expect(await lacksAt(days, NOON + HOUR)).toEqual(['missed', 'missed']);

    outage.away = true;
    await recorder.record(fetchOf(2, NOON + DAY));
    outage.away = false;
    await other.record(fetchOf(3, NOON + 2 * HOUR));
    await other.record(fetchOf(1, NOON + 2 * DAY));
    await recorder.markMissed(SERIES);
    expect(await lacksAt(days, NOON + DAY - 1)).toEqual([null, null]);
    expect(await lacksAt(days, NOON + DAY)).toEqual(['missed', 'missed']);
    expect(await lacksAt(days, NOON + 2 * DAY)).toEqual([null, null]);
  });
});

it('a report is stored however large it is, its large days in parts of their own', async () => {
  const store = await openHistory();
  const parts: number[] = [];
  const write: DaysStore['write'] = (writes) => {
    parts.push(...writes.map((one) => one.parts.size));
    return store.days.write(writes);
  };
  const days = daysOn({ ...store.days, write });
  const recorder = recorderOn(days);
  const large = fetchOf(1, NOON);
  const padded = large.days.map((day) => ({
    ...day,
    body: Buffer.from(day.body.toString().padEnd(9_437_184)),
  }));
  await recorder.record({ ...large, days: padded });
  expect([recorder.events, parts]).toEqual([{ appended: DATES.length }, [2]]);
  const known = await read(daysOn(store.days), NOON);
  expect(known[0]?.entry.body.equals(padded[0]?.body ?? Buffer.of())).toBe(true);
  await recorder.record(fetchOf(2, NOON + 1_000));
  expect(parts).toEqual([2, 1]);
});

describe('schema drift', () => {
  const DATES = ['2026-11-01', '2026-11-02', '2026-11-03'];

  function fetchOf(atMs: number, row: object, dates = DATES) {
    const days = dates.map((date): Entry<RowsHeader> => {
      const like = dayOf(date, 0, atMs).header;
      const entry = rowsEntry([{ date, ...row }]);
      const { columns, types = [], hash } = entry.header;
      const splitFrom = { from: date, to: date, sortedHash: hash, generation: 'g' };
      return { body: entry.body, header: { ...like, columns, types, hash, splitFrom } };
    });
    return { series: 's', days };
  }

  it('a new column is told once, as news; one that is gone, or holds texts, as a warning', async () => {
    const { record, schema, log } = recorderOn(await openDays());
    const told = () => log.lines.filter(({ msg }) => String(msg).includes('columns'));
    await record(fetchOf(NOON, { spent: 1, clicks: 1 }));
    await record(fetchOf(NOON + HOUR, { spent: 2, clicks: 1 }));
    expect([schema, told()]).toEqual([{}, []]);

    await record(fetchOf(NOON + 2 * HOUR, { spent: 3, clicks: 1, views: 4 }, DATES.slice(0, 2)));
    await record(fetchOf(NOON + 3 * HOUR, { spent: 4, clicks: 1, views: 5 }));
    expect(schema).toEqual({ added: 1 });
    expect(told().map(({ level, added }) => [level, added])).toEqual([['info', ['views']]]);

    await record(fetchOf(NOON + 4 * HOUR, { spent: 'n/a', views: 5 }));
    expect(schema).toEqual({ added: 1, removed: 1, retyped: 1 });
    expect(told().at(-1)).toMatchObject({ level: 'warn', removed: ['clicks'], retyped: ['spent'] });
    expect(told()).toHaveLength(2);
  });

  it('what cannot be read any more is no fault', async () => {
    const rows = async () => {
      throw new Error('away');
    };
    const { record, events, schema } = recorderOn({ ...(await openDays()), rows });
    await record(fetchOf(NOON, { spent: 1 }));
    await record(fetchOf(NOON + HOUR, { spent: 1, views: 1 }));
    expect([events, schema]).toEqual([{ appended: 6 }, {}]);
  });
});

const DATE = '2026-11-01';

async function scene() {
  const store = await openHistory();
  const { registry } = await openReplica(store);
  const purges = createPurges(registry);
  const erasures = createErasures(registry, purges);
  const days = daysOn(store.days);
  const { record, events } = recorderOn(days, erasures.isErased);
  return {
    days,
    registry,
    purges,
    erasures,
    events,
    /** A report that names `asked`, whose rows name `held`, fetched now as far as purges are concerned. */
    record: (series: string, asked: readonly string[], held: readonly string[], atMs = NOON) =>
      record({ series, asked, days: [dayHolding(held, purges.seq, atMs)] }),
    erase: (advertiserId: string) => erasures.append(advertiserId, NOON, 'audit'),
    remove: () => eraseDays({ days, isErased: erasures.isErased }, () => false),
    left: () => seriesLeft(days),
  };
}

function dayHolding(held: readonly string[], seq: number, atMs: number) {
  const { header, body } = dayOf(DATE, atMs, atMs);
  return { header: { ...header, accounts: held, seq }, body };
}

/** Revisions of each series, with what is kept of their rows. */
async function seriesLeft(days: Days): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const { series, month } of await days.store.months(null, 100)) {
    const states = await days.states(series, daysOfMonth(month));
    const revisions = states.flatMap((one) => one.revisions);
    const rows = await days.rows(
      series,
      revisions.map((revision) => ({ day: DATE, revision })),
    );
    expect(rows).not.toContain(null);
    if (revisions.length > 0) left[series] = revisions.length;
  }
  return left;
}

it('of reports that name it, and of those whose rows do, or may: no others', async () => {
  const { record, erase, remove, left } = await scene();
  await record('asked', ['1'], []);
  await record('among others', ['2', '1'], []);
  await record('held', [], ['1', '2']);
  await record('held by a report of another', ['2'], ['1']);
  await record('of nobody', [], []);
  await record('another', ['2'], ['2']);
  await record('of all but this', [], ['2', '3']);
  await erase('1');
  expect(await remove()).toBe(5);
  expect(await left()).toEqual({ another: 1, 'of all but this': 1 });
  expect(await remove()).toBe(0);
});

it('an append under way cannot bring it back, and one of a later fetch is kept', async () => {
  const { record, erase, remove, left, purges, events, days, erasures } = await scene();
  const before = purges.seq;
  await record('s', ['1'], ['1']);
  await erase('1');
  await remove();
  // Asked before the erasure, written after it.
  const late = recorderOn(days, erasures.isErased);
  await late.record({ series: 's', asked: ['1'], days: [dayHolding(['1'], before, NOON + HOUR)] });
  expect(late.events).toEqual({ erased: 1 });
  expect(await left()).toEqual({});
  // A replica that had not heard of it wrote all the same: nobody is shown it, and the next pass removes it alone.
  const deaf = recorderOn(days, () => false);
  await deaf.record({ series: 's', asked: ['1'], days: [dayHolding(['1'], before, NOON + HOUR)] });
  await record('s', ['1'], ['1'], NOON + 2 * HOUR);
  expect(await left()).toEqual({ s: 2 });
  const readable = { days, isErased: erasures.isErased, enabled: true, onCut: () => {} };
  const at = (atMs: number) =>
    readDays(readable, {
      series: 's',
      dates: [DATE],
      generation: 'g',
      moment: { at: atMs },
      rules: RULES,
    });
  await expect(at(NOON + HOUR)).rejects.toMatchObject({ code: 'not_known_then' });
  expect((await at(NOON + 2 * HOUR))[0]?.entry.header.rowCount).toBe(1);
  expect(await remove()).toBe(1);
  expect(await left()).toEqual({ s: 1 });
  expect(events).toEqual({ appended: 2 });
});

it('is closed by its number, and goes by the time where the registry is another', async () => {
  const { erase, erasures, purges } = await scene();
  await erase('1');
  await erase('2');
  const open = erasures.open();
  expect(open.map(({ advertiserId }) => advertiserId)).toEqual(['1', '2']);
  await erasures.close(open.slice(0, 1));
  expect(erasures.open()).toEqual(open.slice(1));
  const kept = { asked: ['1'], held: [], rowCount: 1 };
  const elsewhere = purges.seq + 2 ** 22;
  expect(erasures.isErased({ ...kept, seq: purges.seq, fetchedFrom: NOON - 1 })).toBe(false);
  expect(erasures.isErased({ ...kept, seq: elsewhere, fetchedFrom: NOON })).toBe(true);
  expect(erasures.isErased({ ...kept, seq: elsewhere, fetchedFrom: NOON + 1 })).toBe(false);
});
