/** Groups of the store's counters by time and team, and cells as their fields. Pure. */
import { isoDay } from '../../reports/query/days.js';
import type { CounterAdd, CounterRaise } from '../../store/port.js';
import { AT, type Cell, emptyCell, isSum, laterBy, mergeInto } from './cell.js';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** All requests, in place of a team. */
export const ALL = '*';
/** Requests without a valid key, in place of a team. */
export const NO_KEY = '?';

/** Redis stores such small groups compactly. */
export const HOURS_OF_GROUP = 6;

/** Key ids with their last use, as epoch milliseconds. */
export const LAST_USED = 'keys/last-used';

/** How long counts are kept, by the beginning of the names of their groups. */
const KEPT_MS: readonly (readonly [start: string, ms: number])[] = [
  // Of all: a day, plus the partial hour at either end.
  ['series:minutes:', 26 * HOUR_MS],
  // Of a team: an hour, plus the partial one at either end.
  ['series:team-minutes:', 3 * HOUR_MS],
  ['series:hours:', 92 * DAY_MS],
  // To compare a year with the previous one.
  ['usage:', 800 * DAY_MS],
  [LAST_USED, 800 * DAY_MS],
];

export function keptMsOf(group: string): number {
  return KEPT_MS.find(([start]) => group.startsWith(start))?.[1] as number;
}

/** Minutes of an hour of {@link ALL}, or of a life of a team. @param hour since the epoch */
export const minutesGroup = (hour: number, name: string): string =>
  name === ALL ? `series:minutes:${hour}` : `series:team-minutes:${hour}:${name}`;

export const minutesKeptMs = (name: string): number => keptMsOf(minutesGroup(0, name));

/** Hours of {@link ALL}, or of a life of a team. @param part of {@link HOURS_OF_GROUP} hours, since the epoch */
export const hoursGroup = (part: number, name: string): string => `series:hours:${part}:${name}`;

/** A day of a life of a team: the sum of its hours, as slot 0. @param day since the epoch */
export const daysGroup = (day: number, name: string): string => `usage:${isoDay(day)}:${name}`;

/** One field per team of a day. */
export const teamsGroup = (day: number): string => `usage:${isoDay(day)}`;

/** By {@link ALL}, {@link NO_KEY} or a life of a team: cells by minute since the epoch. */
type Taken = ReadonlyMap<string, ReadonlyMap<number, Cell>>;

/** Hours and days are made from the minutes. Those that are no longer shown have no minute of their own. */
export function toBatch(taken: Taken, nowMs: number): { adds: CounterAdd[]; raises: CounterRaise[] } {
  const batch: Batch = { adds: [], raises: [] };
  for (const [name, minutes] of taken) {
    const oldestMs = nowMs - minutesKeptMs(name);
    for (const [minute, cell] of minutes)
      if (minute * MINUTE_MS > oldestMs)
        addFields(batch, minutesGroup(Math.floor(minute / 60), name), minute % 60, cell);
    const hours = joined(minutes, 60, 60);
    for (const [hour, cell] of hours)
      addFields(batch, hoursGroup(Math.floor(hour / HOURS_OF_GROUP), name), hour % HOURS_OF_GROUP, cell);
    if (name === ALL) continue;
    for (const [day, cell] of joined(hours, 24, 3600)) {
      addFields(batch, daysGroup(day, name), 0, cell);
      batch.raises.push({ group: teamsGroup(day), field: name, to: 1 });
    }
  }
  return batch;
}

interface Batch {
  readonly adds: CounterAdd[];
  readonly raises: CounterRaise[];
}

/** Cells of a longer time. @param count of cells that make one @param seconds of each */
function joined(cells: ReadonlyMap<number, Cell>, count: number, seconds: number): Map<number, Cell> {
  const found = new Map<number, Cell>();
  for (const [number, cell] of cells) {
    const at = Math.floor(number / count);
    const into = found.get(at) ?? emptyCell();
    found.set(at, into);
    mergeInto(into, laterBy(cell, (number % count) * seconds));
  }
  return found;
}

/** The budget is a minimum, and counters keep maxima. */
const BUDGET_TOP = 2 ** 40;

/** @param at place of the number in the cell */
export const fieldOf = (slot: number, at: number): string => `${slot}.${at}`;

function addFields(batch: Batch, group: string, slot: number, cell: Cell): void {
  for (const [at, number] of cell.entries()) {
    if (number === 0) continue;
    const field = fieldOf(slot, at);
    if (isSum(at)) batch.adds.push({ group, field, by: number });
    else batch.raises.push({ group, field, to: at === AT.budget ? BUDGET_TOP - number : number });
  }
}

/** @returns cells by slot; fields of other releases are ignored */
export function cellsOf(group: ReadonlyMap<string, number>): Map<number, Cell> {
  const cells = new Map<number, Cell>();
  for (const [field, number] of group) {
    const [slot = Number.NaN, at = Number.NaN] = field.split('.').map(Number);
    const cell = cells.get(slot) ?? emptyCell();
    if (!(at >= 0 && at < cell.length)) continue;
    cells.set(slot, cell);
    cell[at] = at === AT.budget ? BUDGET_TOP - number : number;
  }
  return cells;
}
