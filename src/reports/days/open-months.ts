/** Months as this process knows them: those of the store, with the writes that are under way. */
import { createLastUsed } from '../../lib/last-used.js';
import type { MonthPlace, StoredMonth } from '../../store/days-port.js';
import type { BusMessage } from '../../store/port.js';
import type { Facts } from '../rows/freshness.js';
import { decodeEarlier, decodeMonth, isOfNewerRelease, type Month } from './month.js';
import type { NotedMonth, OpenMonth } from './note-fetch.js';
import { nameOf, type Part, type PartDay } from './part.js';

/** Locks that end with a write, and what other replicas are told after it. */
export interface ChangeNews {
  readonly locks: { readonly owner: string; readonly names: readonly string[]; isDone: boolean };
  readonly message: BusMessage;
}

/** A change of one month, which is written, or under way. */
export interface MonthChange {
  readonly place: MonthPlace;
  /** Days of the month that it concerns; their earlier revisions are read for it. */
  readonly days: readonly number[];
  /** Changes nothing itself. @returns the same month if there is nothing to write */
  readonly apply: (month: OpenMonth) => NotedMonth;
  /** Milliseconds until the month ends by itself, if history records nothing of it; 0: as it is. */
  readonly ttlMs: number;
  readonly news?: ChangeNews;
  /** The largest order of fetches that it brings; 0: none. */
  readonly order: number;
}

/** A month with the stamp that a write of it must find. */
export interface KnownMonth {
  readonly stamp: number;
  readonly month: OpenMonth;
}

/** Rows that are not stored yet, by the name of their part. */
export type OwnParts = ReadonlyMap<string, Part>;

/** Months of this process; a miss reads, and then writes its own. */
const MAX_KNOWN = 128;
const NOTHING_KNOWN = {
  asked: [],
  sizes: new Map(),
  days: new Map(),
  before: new Map(),
  report: null,
  told: null,
};

export const emptyMonth = (kind: Facts['kind']): OpenMonth => ({ ...NOTHING_KNOWN, kind });

export const placeName = ({ series, month }: MonthPlace): string => `${month} ${series}`;

export type OpenMonths = ReturnType<typeof createOpenMonths>;

/** @param onDamaged called for an index or earlier revisions that cannot be read */
export function createOpenMonths(onDamaged: (place: MonthPlace) => void) {
  const known = createLastUsed<KnownMonth>(MAX_KNOWN);
  const underWay = new Map<string, Set<MonthChange>>();

  /** @returns null for a month of a newer release, which is neither read nor written */
  function open(
    place: MonthPlace,
    stored: Pick<StoredMonth, 'stamp' | 'index' | 'earlier'> | null,
  ): KnownMonth | null {
    if (stored === null) return { stamp: 0, month: emptyMonth('bounded') };
    const { stamp, index, earlier } = stored;
    if (index !== null && isOfNewerRelease(index)) return null;
    const decoded = index && decodeMonth(index);
    if (decoded === null) onDamaged(place);
    const month = { ...(decoded ?? emptyMonth('bounded')), before: new Map() };
    return { stamp, month: withEarlier(place, month, earlier) };
  }

  function withEarlier(place: MonthPlace, month: OpenMonth, earlier: StoredMonth['earlier']): OpenMonth {
    const before = new Map(month.before);
    const damaged: number[] = [];
    for (const [day, bytes] of earlier) {
      // What the index does not tell of is of an index that was lost.
      if ((month.days.get(day)?.earlier ?? 0) === 0) continue;
      const revisions = bytes === null ? null : decodeEarlier(bytes);
      if (revisions === null) damaged.push(day);
      else before.set(day, revisions);
    }
    if (damaged.length > 0) onDamaged(place);
    return { ...without(month, damaged), before };
  }

  return {
    open,
    /** Remembers a month that was read or refused by a write. @returns null: it is of a newer release */
    note(place: MonthPlace, stored: Parameters<typeof open>[1]): KnownMonth | null {
      const month = open(place, stored);
      if (month === null) known.delete(placeName(place));
      else known.set(placeName(place), month);
      return month;
    },
    /** @returns undefined unless all is at hand that these changes need */
    knownFor(place: MonthPlace, days: readonly number[]): KnownMonth | undefined {
      const found = known.get(placeName(place));
      const isAtHand = (day: number) =>
        found?.month.before.has(day) || (found?.month.days.get(day)?.earlier ?? 0) === 0;
      return found !== undefined && days.every(isAtHand) ? found : undefined;
    },
    /** Earlier revisions as they were with this stamp. */
    addEarlier(place: MonthPlace, stamp: number, earlier: StoredMonth['earlier']): void {
      const found = known.get(placeName(place));
      if (found?.stamp !== stamp) return;
      known.set(placeName(place), { ...found, month: withEarlier(place, found.month, earlier) });
    },
    forget: (place: MonthPlace) => void known.delete(placeName(place)),
    add(change: MonthChange): void {
      const name = placeName(change.place);
      const all = underWay.get(name) ?? new Set();
      underWay.set(name, all.add(change));
    },
    drop(change: MonthChange): void {
      const name = placeName(change.place);
      const all = underWay.get(name);
      all?.delete(change);
      if (all?.size === 0) underWay.delete(name);
    },
    /** Changes that are under way now. */
    changesOf: (place: MonthPlace): readonly MonthChange[] => [...(underWay.get(placeName(place)) ?? [])],
  };
}

/** A month with changes that may not be stored yet, and their rows. */
export function withChanges(
  month: OpenMonth,
  changes: readonly MonthChange[],
): { readonly month: OpenMonth; readonly own: OwnParts } {
  const own = new Map<string, Part>();
  let current = month;
  for (const change of changes) {
    const noted = change.apply(current);
    current = noted.month;
    for (const [name, days] of noted.parts) own.set(name, partOf(days));
  }
  return { month: current, own };
}

function partOf(days: readonly PartDay[]): Part {
  return new Map(days.map((day) => [nameOf(day.day, day.digest), day]));
}

/** Days whose earlier revisions are damaged: what came before the latest is unknown. */
function without<M extends Month>(month: M, days: readonly number[]): M {
  if (days.length === 0) return month;
  const all = new Map(month.days);
  for (const day of days) {
    const known = all.get(day);
    if (known?.latest == null) continue;
    all.set(day, { ...known, earlier: 0, latest: { ...known.latest, removedBefore: true } });
  }
  return { ...month, days: all };
}
