/** Days in a store in memory, with fetches as reports bring them. */
import { createDays } from '../../../src/reports/days/days.js';
import { decodeMonth } from '../../../src/reports/days/month.js';
import { encodePart } from '../../../src/reports/days/part.js';
import { createSweepDays } from '../../../src/reports/days/sweep.js';
import type { Erasures } from '../../../src/reports/history/erasures.js';
import { createRecorder, record } from '../../../src/reports/history/record.js';
import { dayNumber, daysBetween, isoDay } from '../../../src/reports/query/days.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../../../src/reports/rows/entry.js';
import { sortedHashOf } from '../../../src/reports/rows/select-rows.js';
import type { DaysStore, MonthPlace } from '../../../src/store/days-port.js';
import { daysOver } from '../../../src/store/embedded/days.js';
import { createMemoryLeases } from '../../../src/store/embedded/embedded-store.js';
import { MemoryTable } from '../../support/memory/memory-table.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock, DAY } from '../../support/test-clock.js';
import { COUNTING, RULES, rowsEntry } from '../rows/entries.js';
import { REPORT } from './fetches.js';

export const SERIES = 's';
export const MONTH = '2026-09';
export const PLACE: MonthPlace = { series: SERIES, month: MONTH };
const NO_LIMITS = { currentMaxBytes: null, maxBytes: Number.MAX_SAFE_INTEGER, retentionDays: 400 };

/** Most days are fetched many times. */
const known = new Map<string, Entry<RowsHeader>>();

function entryOf(rows: readonly object[]): Entry<RowsHeader> {
  const name = JSON.stringify(rows);
  const entry = known.get(name) ?? rowsEntry(rows);
  known.set(name, entry);
  return entry;
}

/** A day as a fetch returns it. */
export function fetchedDay(
  date: string,
  rows: readonly object[],
  atMs: number,
  changes: Partial<RowsHeader> = {},
): Entry<RowsHeader> {
  const { body, header } = entryOf(rows);
  const sortedHash = sortedHashOf(body.toString().split(ROW_SEPARATOR));
  const times = { fetchStartedAt: atMs - 20, fetchedAt: atMs, fetchedOn: Math.floor(atMs / DAY) };
  const splitFrom = { from: date, to: date, sortedHash, generation: 'g' };
  return { body, header: { ...header, lastDay: date, ...times, splitFrom, ...changes } };
}

export const rowOf = (date: string, spent: number, campaign = 'c') => ({ date, campaign, spent });

type Limits = Partial<typeof NO_LIMITS | { readonly currentMaxBytes: number }>;

/** @param wrap changes the store that all use */
export function openDays(isErased: Erasures['isErased'] = () => false, wrap = (store: DaysStore) => store) {
  const clock = createStandingClock(`${MONTH}-01T12:00:00Z`);
  const table = new MemoryTable();
  const store = wrap(daysOver(table, createMemoryLeases(clock), async () => {}, clock.now));
  const log = createRecordedLog();
  let lastOrder = 0;
  const nextOrder = () => {
    lastOrder = Math.max(lastOrder + 1, clock.now() * 1000);
    return lastOrder;
  };
  const open = () => {
    const made = createDays({
      store,
      now: clock.now,
      logger: log.logger,
      onDamaged: () => {},
      encode: async (some) => encodePart(some),
    });
    // Orders follow the clock of the test, not that of the machine.
    const days = { ...made, nextOrder, clockUs: () => Number.MAX_SAFE_INTEGER };
    const recorder = createRecorder({
      days,
      isErased,
      credential: () => null,
      count: () => {},
      logger: log.logger,
    });
    return {
      days,
      /** A fetch of this moment. */
      fetch: (entries: readonly Entry<RowsHeader>[], options: Partial<Parameters<typeof record>[1]> = {}) =>
        record(recorder, {
          series: SERIES,
          asked: ['1'],
          isRecorded: true,
          report: REPORT,
          tells: () => 'g',
          rules: RULES,
          days: entries,
          order: days.nextOrder(),
          counting: COUNTING,
          ...options,
        }),
    };
  };
  const own = open();
  return {
    ...own,
    clock,
    log,
    store,
    open,
    /** The store without its list of months. */
    loseList: () => table.drop('u'),
    /** @param apartMs by how much the clock of the store is ahead, if too far */
    createSweep: (limits: Limits = {}, apartMs = 0) => {
      const options = { ...NO_LIMITS, ...limits, clock: { now: clock.now, apartMs }, logger: log.logger };
      const turn = createSweepDays({ ...options, days: own.days });
      return () => turn(() => false);
    },
  };
}

export type StoredDays = ReturnType<typeof openDays>;

/** Fetches those of the last `count` days that are in {@link MONTH}, on each date of a period, as a dashboard does. @param rowsAt of a day, at its age */
export async function fetchDaily(
  { clock, fetch }: Pick<StoredDays, 'clock' | 'fetch'>,
  period: readonly [from: string, to: string],
  count: number,
  rowsAt: (date: string, age: number) => readonly object[],
  afterwards: () => Promise<unknown> = async () => {},
): Promise<void> {
  for (const today of daysBetween(...period)) {
    clock.set(`${today}T12:00:00.000Z`);
    const last = dayNumber(today) as number;
    const ages = Array.from({ length: count }, (_, at) => count - 1 - at);
    const days = ages.flatMap((age) => {
      const date = isoDay(last - age);
      return date.startsWith(MONTH) ? [fetchedDay(date, rowsAt(date, age), clock.now())] : [];
    });
    if (days.length > 0) await fetch(days);
    await afterwards();
  }
}

export const DATES = daysBetween(`${MONTH}-01`, `${MONTH}-30`);

/** All that reports and history show of a month: headers with hashes, and the bytes of every state. */
export async function allShown({ days }: Pick<StoredDays, 'days'>, series = SERIES) {
  const shown = await days.read(series, DATES);
  const states = await days.states(series, DATES);
  const wanted = states.flatMap(({ revisions }, at) =>
    revisions.map((revision) => ({ day: DATES[at] as string, revision })),
  );
  const rows = await days.rows(series, wanted);
  const text = (entry: Entry<RowsHeader> | null) => entry && { ...entry.header, body: entry.body.toString() };
  return {
    days: [...shown.values()].map(text),
    states: wanted.map(({ day, revision: { part: _, ...revision } }, at) => ({
      day,
      ...revision,
      rows: text(rows[at] ?? null),
    })),
  };
}

/** Parts that the latest states of final days are in. */
export async function partsOfFinals({ store }: Pick<StoredDays, 'store'>): Promise<number> {
  const index = (await store.whole(PLACE))?.index;
  const days = index ? [...(decodeMonth(index)?.days.values() ?? [])] : [];
  const parts = days.flatMap(({ latest }) => (latest?.finalFrom === undefined ? [] : [latest.part]));
  return new Set(parts).size;
}

export async function bytesOf({ store }: Pick<StoredDays, 'store'>, place = PLACE): Promise<number> {
  const whole = await store.whole(place);
  const sum = (all: Iterable<number>) => [...all].reduce((one, other) => one + other, 0);
  const earlier = [...(whole?.earlier.values() ?? [])].map((bytes) => bytes?.length ?? 0);
  return (whole?.index?.length ?? 0) + sum(whole?.parts.values() ?? []) + sum(earlier);
}
