/** Days that fetches bring, written down and read back: on a real store, by several writers, and with the store away. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDays } from '../../../src/reports/history/read.js';
import { headsIn } from '../../../src/reports/history/revision.js';
import type { HistoryStore } from '../../../src/store/history-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { DAY, HOUR, NOON } from '../../support/test-clock.js';
import { dayOf, openHistory, recorderOn } from './on-disk.js';

const SERIES = 's';
const DATES = ['2026-11-01', '2026-11-02'];

const read = (history: HistoryStore, atMs: number, generation = 'g') =>
  readDays(
    { store: history, isErased: () => false, enabled: true },
    {
      series: SERIES,
      dates: DATES,
      generation,
      moment: { at: atMs },
    },
  );
const rowsAt = async (history: HistoryStore, atMs: number) =>
  (await read(history, atMs)).map(({ entry }) => entry.body.toString());
const fetchOf = (spent: number, atMs: number) => ({
  series: SERIES,
  days: DATES.map((date) => dayOf(date, spent, atMs)),
});

describe('a day that was fetched', () => {
  it('is written down where its rows changed, and read as of any moment since', async () => {
    const { history } = await openHistory();
    const { record, events } = recorderOn(history);
    await record(fetchOf(1, NOON));
    await record(fetchOf(1, NOON + HOUR / 2));
    await record(fetchOf(2, NOON + 2 * HOUR));
    expect(events).toEqual({ appended: 4 });
    const [first, second] = [await rowsAt(history, NOON), await rowsAt(history, NOON + 3 * HOUR)];
    expect(first).toEqual(DATES.map((date) => `{"date":"${date}","spent":1}`));
    expect(second).toEqual(DATES.map((date) => `{"date":"${date}","spent":2}`));
    expect(await rowsAt(history, NOON + 2 * HOUR - 1)).toEqual(first);
  });

  it('is not known before, nor under another proof', async () => {
    const { history } = await openHistory();
    await recorderOn(history).record(fetchOf(1, NOON));
    await expect(read(history, NOON - 1)).rejects.toMatchObject({
      code: 'not_known_then',
      options: { detail: expect.stringContaining(new Date(NOON).toISOString()) },
    });
    await expect(read(history, NOON, 'h')).rejects.toMatchObject({ code: 'not_known_then' });
  });

  it('is told to take what it takes in the store', async () => {
    const { history } = await openHistory();
    await recorderOn(history).record(fetchOf(1, NOON));
    const [heads] = await history.heads(SERIES, DATES);
    const [revision] = headsIn(heads).revisions;
    const [content] = await history.contents(SERIES, [{ day: DATES[0] as string, name: revision?.id ?? '' }]);
    expect(revision?.bytes).toBe((content?.header.length ?? 0) + (content?.body.length ?? 0));
    expect(revision).toMatchObject({ credential: 'token', ageDays: 3, rowCount: 1 });
  });

  it('is not written down where the platform decides how long it is good, or it may be no report', async () => {
    const { history } = await openHistory();
    const { record } = recorderOn(history);
    const [day] = fetchOf(1, NOON).days;
    for (const change of [{ originMs: 5 }, { doubt: 'odd' }, { splitFrom: null }]) {
      const header = { ...day?.header, ...change } as NonNullable<typeof day>['header'];
      await record({ series: SERIES, days: [{ body: Buffer.from('{}'), header }] });
    }
    expect(await history.heads(SERIES, DATES)).toEqual([null, null]);
  });

  it('by calls that end in any order is what the latest of them said', async () => {
    const fetches = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer()), {
      ...{ minLength: 2, maxLength: 6 },
    });
    await fc.assert(
      fc.asyncProperty(fetches, async (all) => {
        const { history } = await openHistory();
        const { record } = recorderOn(history);
        const made = all.map(([spent, place], at) => ({ fetched: fetchOf(spent, NOON + at * 1000), place }));
        const arrived = made.toSorted((a, b) => a.place - b.place);
        await Promise.all(arrived.map(({ fetched }) => record(fetched)));
        expect((await rowsAt(history, NOON + DAY))[0]).toContain(`"spent":${all.at(-1)?.[0]}`);
      }),
      { numRuns: 15 },
    );
  });
});

describe('while the store is away', () => {
  const breakable = (history: HistoryStore) => {
    const outage = { away: false };
    const heads: HistoryStore['heads'] = async (...asked) => {
      if (outage.away) throw new StoreUnavailable('away');
      return history.heads(...asked);
    };
    return { outage, store: { ...history, heads } };
  };
  const lacksAt = async (history: HistoryStore, atMs: number) =>
    (await read(history, atMs)).map(({ lacks }) => lacks);

  it('days are missed, counted, and marked when it is back', async () => {
    const { history } = await openHistory();
    const { store, outage } = breakable(history);
    const recorder = recorderOn(store);
    await recorder.record(fetchOf(1, NOON));
    outage.away = true;
    await recorder.record(fetchOf(2, NOON + HOUR));
    outage.away = false;
    await recorder.record(fetchOf(3, NOON + 2 * HOUR));
    expect(recorder.events).toEqual({ appended: 4, missed: 2 });
    expect(await lacksAt(history, NOON + HOUR - 1)).toEqual([null, null]);
    expect(await lacksAt(history, NOON + HOUR)).toEqual(['missed', 'missed']);
    expect(await lacksAt(history, NOON + 2 * HOUR)).toEqual([null, null]);
  });

  it('what was missed is marked, though nobody fetches it again, and where another replica went on', async () => {
    const { history } = await openHistory();
    const { store, outage } = breakable(history);
    const [recorder, other] = [recorderOn(store), recorderOn(history)];
    await recorder.record(fetchOf(1, NOON));
    outage.away = true;
    await recorder.record(fetchOf(2, NOON + HOUR));
    await recorder.markMissed();
    outage.away = false;
    await recorder.markMissed('another series');
    expect(await lacksAt(history, NOON + HOUR)).toEqual([null, null]);
    await recorder.markMissed();
    expect(await lacksAt(history, NOON + HOUR)).toEqual(['missed', 'missed']);

    outage.away = true;
    await recorder.record(fetchOf(2, NOON + DAY));
    outage.away = false;
    await other.record(fetchOf(3, NOON + 2 * HOUR));
    await other.record(fetchOf(1, NOON + 2 * DAY));
    await recorder.markMissed(SERIES);
    expect(await lacksAt(history, NOON + DAY - 1)).toEqual([null, null]);
    expect(await lacksAt(history, NOON + DAY)).toEqual(['missed', 'missed']);
    expect(await lacksAt(history, NOON + 2 * DAY)).toEqual([null, null]);
  });

  it('a gap is marked where it was, though another replica has written since', async () => {
    const { history } = await openHistory();
    const { store, outage } = breakable(history);
    const [recorder, other] = [recorderOn(store), recorderOn(history)];
    await recorder.record(fetchOf(1, NOON));
    outage.away = true;
    await recorder.record(fetchOf(2, NOON + HOUR));
    outage.away = false;
    await other.record(fetchOf(3, NOON + 2 * HOUR));
    await recorder.record(fetchOf(3, NOON + 3 * HOUR));
    expect(await lacksAt(history, NOON + HOUR - 1)).toEqual([null, null]);
    expect(await lacksAt(history, NOON + HOUR)).toEqual(['missed', 'missed']);
    expect(await lacksAt(history, NOON + 2 * HOUR)).toEqual([null, null]);
  });

  it('nothing is known, and that is said', async () => {
    const { history } = await openHistory();
    const away = async () => {
      throw new StoreUnavailable('away');
    };
    await expect(read({ ...history, heads: away }, NOON)).rejects.toMatchObject({ code: 'not_ready' });
  });
});

it('a report is written down however large it is, a few days at once', async () => {
  const { history } = await openHistory();
  const writes: number[] = [];
  const write: HistoryStore['write'] = (series, days) => {
    writes.push(days.length);
    return history.write(series, days);
  };
  const recorder = recorderOn({ ...history, write });
  const large = fetchOf(1, NOON);
  const days = large.days.map((day) => ({
    ...day,
    body: Buffer.from(day.body.toString().padEnd(9_437_184)),
  }));
  await recorder.record({ ...large, days });
  expect([recorder.events, writes]).toEqual([{ appended: DATES.length }, [1, 1]]);
  const known = await read(history, NOON);
  expect(known[0]?.entry.body.equals(days[0]?.body ?? Buffer.of())).toBe(true);
  await recorder.record(fetchOf(2, NOON + 1_000));
  expect(writes).toEqual([1, 1, 2]);
});
