/** Builds the answers of series and ledger from cells. Pure. */
import {
  AT,
  BINS_MS,
  type Cell,
  emptyCell,
  hitRatioOf,
  mergeInto,
  quantileMs,
  requestsOf,
} from '../tally/cell.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../tally/groups.js';

export const RANGES = ['1h', '24h', '30d'] as const;
export type Range = (typeof RANGES)[number];

/** The steps of a range; the last one is the current one. */
export interface Steps {
  readonly fromMs: number;
  readonly stepMs: number;
  readonly count: number;
}

const HOURS: Readonly<Record<Range, number>> = { '1h': 2, '24h': 24, '30d': 720 };
const FIVE_MINUTES_MS = 5 * MINUTE_MS;

/** Hours up to the current one; for a range of one hour, two. */
export function hourSteps(range: Range, nowMs: number): Steps {
  return stepsTo(nowMs, HOUR_MS, HOURS[range]);
}

/** All requests together, at the finest resolution. A day begins with a full hour, as the ledger's, which has the same sums. */
export function fineSteps(range: Range, nowMs: number): Steps {
  if (range === '1h') return stepsTo(nowMs, MINUTE_MS, 60);
  const hours = hourSteps(range, nowMs);
  if (range === '30d') return hours;
  const count = Math.floor((nowMs - hours.fromMs) / FIVE_MINUTES_MS) + 1;
  return { fromMs: hours.fromMs, stepMs: FIVE_MINUTES_MS, count };
}

function stepsTo(nowMs: number, stepMs: number, count: number): Steps {
  return { fromMs: (Math.floor(nowMs / stepMs) + 1 - count) * stepMs, stepMs, count };
}

export const endOf = ({ fromMs, stepMs, count }: Steps): number => fromMs + stepMs * count;

/** @param cells by the beginning of their minute or hour, milliseconds; those outside are left out */
export function cellsOfSteps(steps: Steps, cells: Iterable<readonly [number, Cell]>): Cell[] {
  const found = Array.from({ length: steps.count }, emptyCell);
  for (const [atMs, cell] of cells) {
    const into = found[Math.floor((atMs - steps.fromMs) / steps.stepMs)];
    if (into !== undefined) mergeInto(into, cell);
  }
  return found;
}

/** The members of an answer, one list of as many numbers as there are steps for each. */
export function seriesOf(cells: readonly Cell[], budgetLeft: readonly (number | null)[]) {
  const of = (at: number) => cells.map((cell) => cell[at] as number);
  return {
    requests: cells.map(requestsOf),
    errors: of(AT.errors),
    rateLimited: of(AT.rateLimited),
    outcomes: {
      hit: of(AT.hit),
      stale: of(AT.stale),
      'stale-if-error': of(AT.staleIfError),
      miss: of(AT.miss),
      refresh: of(AT.refresh),
      collapsed: of(AT.collapsed),
      failed: of(AT.failed),
      other: of(AT.other),
    },
    hitTiers: { memory: of(AT.memory), store: of(AT.store) },
    platformCalls: of(AT.platformCalls),
    platformCallsSaved: of(AT.platformCallsSaved),
    queue: of(AT.queue),
    budgetLeft: [...budgetLeft],
    latency: {
      binsMs: [...BINS_MS],
      counts: cells.map((cell) => [...cell.subarray(AT.bins, AT.bins + BINS_MS.length)]),
      longestMs: of(AT.longest),
    },
  };
}

/** Lowest remaining rate shown by the platform in each step; null if it showed none. */
export function shownBudget(cells: readonly Cell[]): (number | null)[] {
  return cells.map((cell) => {
    const budget = cell[AT.budget] as number;
    return budget === 0 ? null : budget - 1;
  });
}

/**
 * Remaining platform calls of a team at the end of each hour, by its current limit.
 * @param cells by the hour, from the beginning of the first day on
 */
export function shareLeft(steps: Steps, cells: Iterable<readonly [number, Cell]>, share: number): number[] {
  const fromMs = Math.floor(steps.fromMs / DAY_MS) * DAY_MS;
  const before = (steps.fromMs - fromMs) / steps.stepMs;
  const hours = cellsOfSteps({ ...steps, fromMs, count: steps.count + before }, cells);
  let used = 0;
  return hours
    .map((cell, at) => {
      if ((fromMs + at * steps.stepMs) % DAY_MS === 0) used = 0;
      used += cell[AT.platformCalls] as number;
      return Math.max(0, share - used);
    })
    .slice(before);
}

/** One team in the ledger. @param cells by the beginning of their time. @returns null where nothing was counted */
export function ledgerRow(steps: Steps, cells: readonly (readonly [number, Cell])[]) {
  const inside = cells.filter(([atMs]) => atMs >= steps.fromMs && atMs < endOf(steps));
  if (inside.length === 0) return null;
  const all = emptyCell();
  let lastSeenMs: number | null = null;
  for (const [atMs, cell] of inside) {
    mergeInto(all, cell);
    const last = cell[AT.last] as number;
    if (last > 0) lastSeenMs = Math.max(lastSeenMs ?? 0, atMs + (last - 1) * 1000);
  }
  const number = (at: number) => all[at] as number;
  const ratio = hitRatioOf(all);
  return {
    requests: requestsOf(all),
    hitRatio: ratio === null ? null : Math.round(ratio * 10_000) / 10_000,
    platformCalls: number(AT.platformCalls),
    platformCallsSaved: number(AT.platformCallsSaved),
    errors: number(AT.errors),
    rateLimited: number(AT.rateLimited),
    p50Ms: quantileMs(all, 0.5),
    p99Ms: quantileMs(all, 0.99),
    lastSeenAt: lastSeenMs === null ? null : new Date(lastSeenMs).toISOString(),
  };
}
