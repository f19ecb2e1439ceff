/** Groups of the store's counters by time, and cells as their fields. Pure. */
import { isoDay } from '../../reports/query/days.js';
import type { CountBatch } from '../../store/count-batches.js';
import type { CounterAdd, CounterRaise } from '../../store/port.js';
import { AT, type Cell, emptyCell, isSum, mergeInto } from './cell.js';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** All requests, in place of a team's id. */
export const ALL = '*';
/** Requests without a valid key, in place of a team's id. */
export const NO_KEY = '?';

/** Redis stores such small groups compactly. */
export const HOURS_OF_GROUP = 6;

/** A day, plus the partial hour at either end. */
const MINUTES_KEPT_MS = 26 * HOUR_MS;
const HOURS_KEPT_MS = 92 * DAY_MS;
/** An hour, plus the partial one at either end. */
export const TEAM_MINUTES_KEPT_MS = 3 * HOUR_MS;

/** The minutes of an hour. @param hour since the epoch */
export const minutesGroup = (hour: number): string => `series:minutes:${hour}`;

/** Minutes of an hour of a life of a team. */
export const teamMinutesGroup = (hour: number, team: string): string => `series:team-minutes:${hour}:${team}`;

/** Hours of a life of a team, or of {@link ALL}. @param part of {@link HOURS_OF_GROUP} hours, since the epoch */
export const hoursGroup = (part: number, team: string): string => `series:hours:${part}:${team}`;

/** A day of a life of a team: the sum of its hours, as slot 0. @param day since the epoch */
export const daysGroup = (day: number, team: string): string => `series:days:${isoDay(day)}:${team}`;

/** One field per team of a day. */
export const teamsGroup = (day: number): string => `series:teams:${isoDay(day)}`;

export interface Taken {
  /** By minute since the epoch. */
  readonly minutes: ReadonlyMap<number, Cell>;
  /** By team, or {@link NO_KEY}. */
  readonly teams: ReadonlyMap<string, CountedTeam>;
}

interface CountedTeam {
  /** By minute since the epoch, of the last hours. */
  readonly minutes: ReadonlyMap<number, Cell>;
  /** By hour since the epoch. */
  readonly hours: ReadonlyMap<number, Cell>;
}

/** The hours of all are made from the minutes. */
export function toBatches({ minutes, teams }: Taken, nowMs: number): CountBatch[] {
  const [ofMinutes, ofHours] = [emptyBatch(MINUTES_KEPT_MS), emptyBatch(HOURS_KEPT_MS)];
  const ofTeamMinutes = emptyBatch(TEAM_MINUTES_KEPT_MS);
  const hours = new Map<number, Cell>();
  for (const [minute, cell] of minutes) {
    const hour = Math.floor(minute / 60);
    // After such a delay, minutes are no longer shown.
    if (minute * MINUTE_MS > nowMs - MINUTES_KEPT_MS)
      addFields(ofMinutes, minutesGroup(hour), minute % 60, cell);
    const ofAll = hours.get(hour) ?? emptyCell();
    hours.set(hour, ofAll);
    mergeInto(ofAll, asPartOf(cell, (minute % 60) * 60));
  }
  addHours(ofHours, ALL, hours);
  for (const [team, own] of teams) {
    addHours(ofHours, team, own.hours);
    for (const [hour, cell] of own.hours) {
      const day = Math.floor(hour / 24);
      addFields(ofHours, daysGroup(day, team), 0, asPartOf(cell, (hour % 24) * 3600));
      ofHours.raises.push({ group: teamsGroup(day), field: team, to: 1 });
    }
    for (const [minute, cell] of own.minutes)
      addFields(ofTeamMinutes, teamMinutesGroup(Math.floor(minute / 60), team), minute % 60, cell);
  }
  return [ofMinutes, ofHours, ofTeamMinutes].filter(({ adds, raises }) => adds.length + raises.length > 0);
}

function addHours(batch: Batch, team: string, hours: ReadonlyMap<number, Cell>): void {
  for (const [hour, cell] of hours)
    addFields(batch, hoursGroup(Math.floor(hour / HOURS_OF_GROUP), team), hour % HOURS_OF_GROUP, cell);
}

const emptyBatch = (ttlMs: number) => ({ adds: [] as CounterAdd[], raises: [] as CounterRaise[], ttlMs });
type Batch = ReturnType<typeof emptyBatch>;

/** A cell of a longer time that started so many seconds before. */
function asPartOf(cell: Cell, seconds: number): Cell {
  const part = cell.slice();
  if (part[AT.last] !== 0) part[AT.last] = (part[AT.last] as number) + seconds;
  return part;
}

/** The budget is a minimum, and counters keep maxima. */
const BUDGET_TOP = 2 ** 40;

/** A field is `<slot>.<place of the number in the cell>`. */
function addFields(batch: Batch, group: string, slot: number, cell: Cell): void {
  for (const [at, number] of cell.entries()) {
    if (number === 0) continue;
    const field = `${slot}.${at}`;
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
