/** Which document holds which time. Pure. */
import { isoDay } from '../../reports/query/days.js';
import type { Cell } from './cell.js';
import { type Batch, mergedCells } from './page.js';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** All requests together, in the place of a team's id. */
export const ALL = '*';

/** A document, and what is to be known to write it. */
export interface Place {
  readonly key: string;
  readonly ttlMs: number;
  /** Null for the minutes. */
  readonly ofDay: { readonly day: string; readonly team: string } | null;
}

/** The minutes of one hour. @param hour since the epoch */
export function minutesPlace(hour: number): Place {
  // A day, and the hour under way at either end.
  return { key: `series:minutes:${hour}`, ttlMs: 26 * HOUR_MS, ofDay: null };
}

/** The hours of a team's day, in one of its lives, or of {@link ALL}. */
export function hoursPlace(day: string, team: string): Place {
  return { key: `series:hours:${day}:${team}`, ttlMs: 92 * DAY_MS, ofDay: { day, team } };
}

/** What was counted since it was last taken. */
export interface Counted {
  /** By the minute since the epoch. */
  readonly minutes: ReadonlyMap<number, Cell>;
  /** By team, then by the hour since the epoch. */
  readonly teams: ReadonlyMap<string, ReadonlyMap<number, Cell>>;
}

/** As one batch for each document. The hours of all are made from the minutes. */
export function toBatches({ minutes, teams }: Counted): Map<Place, Batch> {
  const batches = new Map<string, { place: Place; cells: Map<number, Cell>; names: Set<string> }>();
  const batchOf = (place: Place) => {
    const found = batches.get(place.key) ?? { place, cells: new Map(), names: new Set() };
    batches.set(place.key, found);
    return found;
  };
  const addHour = (team: string, hour: number, cell: Cell) => {
    const batch = batchOf(hoursPlace(isoDay(Math.floor(hour / 24)), team));
    batch.cells = mergedCells([batch.cells, new Map([[hour % 24, cell]])]);
  };
  for (const [minute, cell] of minutes) {
    const hour = Math.floor(minute / 60);
    batchOf(minutesPlace(hour)).cells.set(minute % 60, cell);
    addHour(ALL, hour, asPartOfHour(cell, minute % 60));
  }
  for (const [team, hours] of teams) {
    for (const [hour, cell] of hours) {
      addHour(team, hour, cell);
      batchOf(hoursPlace(isoDay(Math.floor(hour / 24)), ALL)).names.add(team);
    }
  }
  return new Map([...batches.values()].map(({ place, ...batch }) => [place, batch]));
}

/** Its last request ended so many seconds later in the hour. */
function asPartOfHour(cell: Cell, minute: number): Cell {
  const part = cell.slice();
  const last = part.length - 1;
  if (part[last] !== 0) part[last] = (part[last] as number) + minute * 60;
  return part;
}
