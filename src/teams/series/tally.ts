/** Counters of this process, in typed arrays, so that counting allocates nothing within a minute. */
import type { Clock } from '../../lib/clock.js';
import type { Outcome } from '../../outcome.js';
import { AT, binAt, type Cell, emptyCell, outcomeAt } from './cell.js';
import { type Counted, HOUR_MS, MINUTE_MS } from './groups.js';

export interface CountedRequest {
  /** Null without a key. */
  readonly team: string | null;
  readonly outcome: Outcome | null;
  readonly tier: 'l1' | 'store' | null;
  readonly code: string | null;
  /** Platform calls of the same answer without a cache. */
  readonly plainCalls: number;
  readonly platformCalls: number;
}

/** The present cell. */
interface Current {
  fromMs: number;
  cell: Cell;
}

/** The gateway's own refusals by limits. */
const LIMITED: readonly (string | null)[] = ['rate_limited', 'upstream_budget_exhausted'];

/** @param nameOf a team in its present life */
export function createSeriesTally({ now }: Pick<Clock, 'now'>, nameOf: (team: string) => string) {
  let minutes = new Map<number, Cell>();
  let teams = new Map<string, Map<number, Cell>>();
  let minute: Current = { fromMs: Number.NaN, cell: emptyCell() };
  let hours = new Map<string, Current>();

  /** The cell of the present minute, even if the clock was set back. */
  function minuteAt(nowMs: number): Cell {
    if (nowMs - minute.fromMs < MINUTE_MS && nowMs >= minute.fromMs) return minute.cell;
    const number = Math.floor(nowMs / MINUTE_MS);
    minute = { fromMs: number * MINUTE_MS, cell: cellOf(minutes, number) };
    return minute.cell;
  }

  function hourAt(id: string, nowMs: number): Cell {
    const team = nameOf(id);
    const current = hours.get(team);
    if (current !== undefined && nowMs - current.fromMs < HOUR_MS && nowMs >= current.fromMs)
      return current.cell;
    const number = Math.floor(nowMs / HOUR_MS);
    let own = teams.get(team);
    if (own === undefined) {
      own = new Map();
      teams.set(team, own);
    }
    const cell = cellOf(own, number);
    hours.set(team, { fromMs: number * HOUR_MS, cell });
    return cell;
  }

  return {
    add(request: CountedRequest, status: number, durationMs: number): void {
      const nowMs = now();
      count(minuteAt(nowMs), request, status, durationMs, secondOf(nowMs, MINUTE_MS));
      const { team } = request;
      if (team !== null) count(hourAt(team, nowMs), request, status, durationMs, secondOf(nowMs, HOUR_MS));
    },
    /** An attempt of a platform call. @param left the platform's remaining rate; null: unknown */
    addCall(team: string, left: number | null): void {
      const nowMs = now();
      const all = minuteAt(nowMs);
      grow(all, AT.platformCalls, 1);
      grow(hourAt(team, nowMs), AT.platformCalls, 1);
      if (left === null) return;
      const budget = all[AT.budget] as number;
      all[AT.budget] = budget === 0 ? left + 1 : Math.min(budget, left + 1);
    },
    /** @param waiting present length of the queue for platform calls */
    queued(waiting: number): void {
      if (waiting <= 0) return;
      const all = minuteAt(now());
      all[AT.queue] = Math.max(all[AT.queue] as number, waiting);
    },
    isEmpty: () => minutes.size === 0,
    /** Returns all counts and resets them. */
    take(): Counted {
      const taken = { minutes, teams };
      minutes = new Map();
      teams = new Map();
      hours = new Map();
      minute = { fromMs: Number.NaN, cell: minute.cell };
      return taken;
    },
  };
}

function cellOf(cells: Map<number, Cell>, number: number): Cell {
  const found = cells.get(number);
  if (found !== undefined) return found;
  const cell = emptyCell();
  cells.set(number, cell);
  return cell;
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
  request: CountedRequest,
  status: number,
  durationMs: number,
  second: number,
): void {
  const { outcome, code, plainCalls, platformCalls, tier } = request;
  const at = outcomeAt(outcome);
  grow(cell, at, 1);
  if (outcome === 'hit') grow(cell, tier === 'l1' ? AT.memory : AT.store, 1);
  if (LIMITED.includes(code)) grow(cell, AT.rateLimited, 1);
  else if (status >= 400) grow(cell, AT.errors, 1);
  if (at !== AT.other && plainCalls > platformCalls)
    grow(cell, AT.platformCallsSaved, plainCalls - platformCalls);
  grow(cell, binAt(durationMs), 1);
  if (second > (cell[AT.last] as number)) cell[AT.last] = second;
}
