/** Reads days: what plain reports show, and the states that history has. Pending writes of this process are read along. */
import type { Logger } from 'pino';
import { groupBy } from '../../lib/group-by.js';
import { createLastUsed } from '../../lib/last-used.js';
import type { Claim, Claimed, DaysStore, MonthPlace, StoredMonth } from '../../store/days-port.js';
import type { DayStates, Revision } from '../history/revision.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { entriesAtOnce, entriesOf, headerOfRevision, shownDay, type WantedRows } from './entries-of-days.js';
import type { Month } from './month.js';
import { dayOf, revisionsOf } from './note-fetch.js';
import {
  emptyMonth,
  type MonthChange,
  type OpenMonths,
  type OwnParts,
  placeName,
  withChanges,
} from './open-months.js';
import { decodePart, type Part } from './part.js';

export interface ReadOptions {
  readonly store: Pick<DaysStore, 'read' | 'parts' | 'earlier'>;
  readonly months: OpenMonths;
  readonly now: () => number;
  readonly onDamaged: () => void;
  /** Called for months that plain reports read. */
  readonly noteUse: (place: MonthPlace) => void;
  readonly logger: Logger;
}

/** When the store is read. */
export interface ReadWhen {
  /** Not before it. Later writes of this process are not read all the same. */
  readonly begin?: Promise<unknown>;
  /** A store call for the same series that was just sent; see the ports. */
  readonly after?: Promise<unknown>;
}

/** A recorded state whose rows are wanted. */
export interface StateWanted {
  /** ISO */
  readonly day: string;
  readonly revision: Revision;
}

/** Dates by month. */
export const byMonth = (dates: readonly string[]) => [...groupBy(dates, (date) => date.slice(0, 7))];

/** Of a month that is written or removed while it is read. */
const TIMES_AGAIN = 2;

/** @returns what plain reports show */
export function createShowDays(options: ReadOptions) {
  const { store, months, now, noteUse } = options;
  const unreadable = createUnreadable(options);

  /** @param dates of the month. @throws StoreUnavailable */
  async function showMonth(
    place: MonthPlace,
    dates: readonly string[],
    changes: readonly MonthChange[],
    stored: StoredMonth | null,
    timesAgain = 0,
  ): Promise<(Entry<RowsHeader> | null)[]> {
    const known = months.note(place, stored);
    if (known === null) return [];
    const { month, own } = withChanges(known.month, changes);
    const wanted = shownIn(month, dates, now());
    const parts = await partsOf(store, place, namesIn(wanted), own, stored?.parts ?? NO_PARTS);
    const entries = await entriesOf(wanted, (name) => parts.get(name));
    if (!entries.includes(null)) return entries;
    // A part that was gathered since has another name in the index of now; one of a removed month is in none.
    const again = [{ month: place.month, days: dates.map(dayOf) }];
    const [present = null] = await store.read(place.series, again);
    if (present !== null && present.stamp === stored?.stamp)
      unreadable.add(place, namesIn(wanted.filter((_one, at) => entries[at] === null)));
    else if (timesAgain < TIMES_AGAIN) return showMonth(place, dates, changes, present, timesAgain + 1);
    return entries;
  }

  return {
    ...createAtHand(months, now),
    /** Parts of a month that could not be read. */
    unreadableOf: unreadable.of,
    /**
     * Days of the months that have changed since they were read, as a claim returned them. All months are then at hand with their
     * earlier revisions.
     * @throws StoreUnavailable
     */
    async readClaimed(
      series: string,
      dates: readonly string[],
      known: Claim['known'],
      { changed, earlier }: Claimed,
    ): Promise<Map<string, Entry<RowsHeader>>> {
      const shown = byMonth(dates).map(async ([month, some]) => {
        const place = { series, month };
        const present = changed.get(month);
        if (present !== undefined) return showMonth(place, some, months.changesOf(place), present);
        const stamp = known.find((one) => one.month === month)?.stamp ?? 0;
        months.addEarlier(place, stamp, earlier.get(month) ?? new Map());
        return [];
      });
      return byDate((await Promise.all(shown)).flat());
    },
    /** @returns by date. @throws StoreUnavailable */
    async read(
      series: string,
      dates: readonly string[],
      { begin, after }: ReadWhen = {},
    ): Promise<Map<string, Entry<RowsHeader>>> {
      const groups = byMonth(dates).map(([month, some]) => {
        const place = { series, month };
        // Those of now: later ones of this process are not read.
        return { place, some, changes: months.changesOf(place) };
      });
      if (begin !== undefined) await begin;
      const wanted = groups.map(({ place: { month }, some }) => ({ month, days: some.map(dayOf) }));
      const stored = await store.read(series, wanted, after);
      for (const [at, { place }] of groups.entries()) if (stored[at]) noteUse(place);
      const shown = await Promise.all(
        groups.map(({ place, some, changes }, at) => showMonth(place, some, changes, stored[at] ?? null)),
      );
      return byDate(shown.flat());
    },
  };
}

/** What is known without the store. */
function createAtHand(months: OpenMonths, now: () => number) {
  return {
    /** Months of these days as they were read, for a claim. Unknown ones count as absent, so that the claim returns them. */
    knownMonths: (series: string, dates: readonly string[]): Claim['known'] =>
      byMonth(dates).map(([month, some]) => ({
        month,
        days: some.map(dayOf),
        stamp: months.knownFor({ series, month }, [])?.stamp ?? 0,
      })),
    /** What the months at hand show, without rows: the store is not asked. */
    shownAtHand(series: string, dates: readonly string[]): Map<string, Entry<RowsHeader>> {
      const shown = byMonth(dates).flatMap(([month, some]) => {
        const known = months.knownFor({ series, month }, []);
        return known === undefined ? [] : shownIn(known.month, some, now());
      });
      return byDate(
        entriesAtOnce(
          shown.map((one) => ({ ...one, part: null })),
          () => undefined,
        ),
      );
    },
    /** What this process is writing just now, by date: the store is not asked. */
    beingWritten(series: string, dates: readonly string[]): Map<string, Entry<RowsHeader>> {
      const shown = byMonth(dates).map(([month, some]) => {
        const place = { series, month };
        const changes = months.changesOf(place);
        if (changes.length === 0) return [];
        const { month: open, own } = withChanges(emptyMonth('bounded'), changes);
        return entriesAtOnce(shownIn(open, some, now()), (name) => own.get(name));
      });
      return byDate(shown.flat());
    },
  };
}

/** @returns recorded states, and their rows */
export function createReadStates({ store, months }: ReadOptions) {
  async function statesOf(place: MonthPlace, dates: readonly string[]): Promise<DayStates[]> {
    const known = months.note(place, await store.earlier(place, dates.map(dayOf)));
    const { month } = withChanges(known?.month ?? emptyMonth('bounded'), months.changesOf(place));
    return dates.map((date) => ({
      asked: month.asked,
      report: month.report,
      revisions: revisionsOf(month, dayOf(date)).filter((one) => one.unrecorded !== true),
    }));
  }

  async function rowsOf(place: MonthPlace, wanted: readonly StateWanted[]) {
    const known = months.knownFor(place, [])?.month ?? emptyMonth('bounded');
    const { month, own } = withChanges(known, months.changesOf(place));
    const rows = wanted.map(({ day, revision }): WantedRows => {
      const { part, digest } = revision;
      return { day: dayOf(day), part, digest, header: headerOfRevision(month, day, revision) };
    });
    const parts = await partsOf(store, place, namesIn(rows), own, NO_PARTS);
    return await entriesOf(rows, (name) => parts.get(name));
  }

  return {
    /** @returns in order; those of unknown days are empty. @throws StoreUnavailable */
    async states(series: string, dates: readonly string[]): Promise<readonly DayStates[]> {
      const groups = byMonth(dates);
      const found = await Promise.all(groups.map(([month, some]) => statesOf({ series, month }, some)));
      const all = new Map(groups.flatMap(([, some], at) => some.map((date, n) => [date, found[at]?.[n]])));
      return dates.map((date) => all.get(date) as DayStates);
    },
    /** @returns in order; null for missing or damaged rows. @throws StoreUnavailable */
    async rows(series: string, wanted: readonly StateWanted[]): Promise<(Entry<RowsHeader> | null)[]> {
      const found = new Map<StateWanted, Entry<RowsHeader> | null>();
      await Promise.all(
        [...groupBy(wanted, ({ day }) => day.slice(0, 7))].map(async ([month, some]) => {
          const entries = await rowsOf({ series, month }, some);
          for (const [at, one] of some.entries()) found.set(one, entries[at] ?? null);
        }),
      );
      return wanted.map((one) => found.get(one) ?? null);
    },
  };
}

const NO_PARTS: StoredMonth['parts'] = new Map();

/** Decoded parts: own ones, those that were read along, and the others in one more trip. @throws StoreUnavailable */
async function partsOf(
  store: Pick<DaysStore, 'parts'>,
  place: MonthPlace,
  names: ReadonlySet<string>,
  own: OwnParts,
  along: StoredMonth['parts'],
): Promise<ReadonlyMap<string, Part>> {
  const parts = new Map<string, Part>();
  const missing = [...names].filter((name) => !own.has(name) && !along.has(name));
  const further = missing.length === 0 ? NO_PARTS : await store.parts(place, missing);
  for (const name of names) {
    const bytes = along.get(name) ?? further.get(name);
    const part = own.get(name) ?? (bytes === undefined ? null : decodePart(bytes));
    if (part !== null) parts.set(name, part);
  }
  return parts;
}

function shownIn(month: Month, dates: readonly string[], nowMs: number): WantedRows[] {
  return dates.flatMap((date): WantedRows[] => {
    const day = month.days.get(dayOf(date));
    const shown = day === undefined ? null : shownDay(month, date, day, nowMs);
    return shown === null ? [] : [{ day: dayOf(date), ...shown }];
  });
}

function namesIn(wanted: readonly WantedRows[]): ReadonlySet<string> {
  return new Set(wanted.flatMap(({ part }) => part ?? []));
}

function byDate(entries: readonly (Entry<RowsHeader> | null)[]): Map<string, Entry<RowsHeader>> {
  return new Map(
    entries.flatMap((entry) => (entry === null ? [] : [[entry.header.lastDay as string, entry] as const])),
  );
}

const MAX_UNREADABLE = 1000;
const NONE: ReadonlySet<string> = new Set();

/** Parts that could not be read: the next fetch of their rows stores them again. */
function createUnreadable({ onDamaged, logger }: ReadOptions) {
  const known = createLastUsed<ReadonlySet<string>>(MAX_UNREADABLE);
  return {
    of: (place: MonthPlace): ReadonlySet<string> => known.get(placeName(place)) ?? NONE,
    add(place: MonthPlace, names: ReadonlySet<string>): void {
      onDamaged();
      logger.warn(
        { month: place.month, parts: names.size },
        'stored rows are missing or damaged; their days are fetched again',
      );
      known.set(placeName(place), new Set([...(known.get(placeName(place)) ?? []), ...names]));
    },
  };
}
