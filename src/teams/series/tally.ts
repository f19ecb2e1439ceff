/** Counters of this process, in typed arrays, so that counting allocates nothing within a minute. */
import type { Clock } from '../../lib/clock.js';
import type { Counted } from '../../outcome.js';
import { AT, binAt, type Cell, emptyCell, outcomeAt } from './cell.js';
import { HOUR_MS, MINUTE_MS, NO_KEY, type Taken, TEAM_MINUTES_KEPT_MS } from './groups.js';

/**
 * Cells by number of their minute or hour since the epoch. The present one is at hand, also if the clock was set back.
 * @param keptMs older ones are dropped, so that they do not pile up while the store is away
 */
function createCells(lengthMs: number, keptMs = Number.POSITIVE_INFINITY) {
  const cells = new Map<number, Cell>();
  let [fromMs, present] = [Number.NaN, emptyCell()];
  return {
    cells,
    at(nowMs: number): Cell {
      if (nowMs - fromMs < lengthMs && nowMs >= fromMs) return present;
      const number = Math.floor(nowMs / lengthMs);
      fromMs = number * lengthMs;
      present = cells.get(number) ?? emptyCell();
      cells.set(number, present);
      for (const known of cells.keys()) if (known * lengthMs < nowMs - keptMs) cells.delete(known);
      return present;
    },
  };
}

function createTeamCells() {
  const [minutes, hours] = [createCells(MINUTE_MS, TEAM_MINUTES_KEPT_MS), createCells(HOUR_MS)];
  return { minutes, hours };
}

/** @param nameOf a team in its present life */
export function createSeriesTally({ now }: Pick<Clock, 'now'>, nameOf: (team: string) => string) {
  let minutes = createCells(MINUTE_MS);
  let teams = new Map<string, ReturnType<typeof createTeamCells>>();

  function cellsOf(team: string | null) {
    const name = team === null ? NO_KEY : nameOf(team);
    const known = teams.get(name);
    if (known !== undefined) return known;
    const made = createTeamCells();
    teams.set(name, made);
    return made;
  }

  return {
    add(counted: Counted, durationMs: number): void {
      const nowMs = now();
      const own = cellsOf(counted.team);
      const second = secondOf(nowMs, MINUTE_MS);
      count(minutes.at(nowMs), counted, durationMs, second);
      count(own.minutes.at(nowMs), counted, durationMs, second);
      count(own.hours.at(nowMs), counted, durationMs, secondOf(nowMs, HOUR_MS));
    },
    /** An attempt of a platform call. @param left the platform's remaining rate; null: unknown */
    addCall(team: string, left: number | null): void {
      const nowMs = now();
      const [all, own] = [minutes.at(nowMs), cellsOf(team)];
      for (const cell of [all, own.minutes.at(nowMs), own.hours.at(nowMs)]) grow(cell, AT.platformCalls, 1);
      if (left === null) return;
      const budget = all[AT.budget] as number;
      all[AT.budget] = budget === 0 ? left + 1 : Math.min(budget, left + 1);
    },
    /** @param waiting present length of the queue for platform calls */
    queued(waiting: number): void {
      if (waiting <= 0) return;
      const all = minutes.at(now());
      all[AT.queue] = Math.max(all[AT.queue] as number, waiting);
    },
    isEmpty: () => minutes.cells.size === 0,
    /** Returns all counts and resets them. */
    take(): Taken {
      const taken = {
        minutes: minutes.cells,
        teams: new Map(
          [...teams].map(([name, own]) => [name, { minutes: own.minutes.cells, hours: own.hours.cells }]),
        ),
      };
      minutes = createCells(MINUTE_MS);
      teams = new Map();
      return taken;
    },
  };
}

/** Second plus one; 0: none. */
function secondOf(nowMs: number, lengthMs: number): number {
  return Math.floor((nowMs % lengthMs) / 1000) + 1;
}

function grow(cell: Cell, at: number, by: number): void {
  cell[at] = (cell[at] as number) + by;
}

function count(
  cell: Cell,
  { outcome, tier, fault, saved }: Counted,
  durationMs: number,
  second: number,
): void {
  grow(cell, outcomeAt(outcome), 1);
  if (tier !== null) grow(cell, tier === 'l1' ? AT.memory : AT.store, 1);
  if (fault !== null) grow(cell, AT[fault], 1);
  grow(cell, AT.platformCallsSaved, saved);
  grow(cell, binAt(durationMs), 1);
  if (second > (cell[AT.last] as number)) cell[AT.last] = second;
}
