/** The counters of a minute, hour or day: numbers in a fixed order. Pure. */
import { type Counted, hitRatio, type Outcome } from '../../outcome.js';

/**
 * Upper bounds of the latency bins, milliseconds; the last bin also has all longer requests. Stored: other bounds need
 * other fields (`groups.ts`).
 */
export const BINS_MS = [
  0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
] as const;

/** A minute, hour or day. The number of requests is the sum of the outcomes. */
export type Cell = Float64Array;

/** Index of each number; stored, so new ones go to the end. They are sums, unless {@link KEPT} names them. */
export const AT = {
  errors: 0,
  rateLimited: 1,
  hit: 2,
  stale: 3,
  staleIfError: 4,
  miss: 5,
  refresh: 6,
  collapsed: 7,
  other: 8,
  memory: 9,
  store: 10,
  platformCalls: 11,
  platformCallsSaved: 12,
  /** The first of {@link BINS_MS}. */
  bins: 13,
  /** Longest queue for platform calls. */
  queue: 29,
  /** Lowest remaining rate of the platform, plus 1; 0: unknown. */
  budget: 30,
  /** Second of the time at which the last request ended, plus 1; 0: none. */
  last: 31,
  failed: 32,
  rows: 33,
  bytesOut: 34,
  viaMcp: 35,
  /** The longest request, whole milliseconds, rounded up; 0: none, or counted by an earlier release. */
  longest: 36,
  /** Those of `failed` for want of a token that the platform takes; 0 if counted by an earlier release. */
  failedByCredential: 37,
} as const;

/** Numbers that are not added: which one of two is kept. */
const KEPT: ReadonlyMap<number, 'highest' | 'lowest'> = new Map([
  [AT.queue, 'highest'],
  [AT.budget, 'lowest'],
  [AT.last, 'highest'],
  [AT.longest, 'highest'],
]);

export const isSum = (at: number): boolean => !KEPT.has(at);

const CELL_SIZE = Math.max(...Object.values(AT)) + 1;
const SUMS = Array.from({ length: CELL_SIZE }, (_, at) => at).filter(isSum);

export function emptyCell(): Cell {
  return new Float64Array(CELL_SIZE);
}

/** Adds another cell of the same time. */
export function mergeInto(cell: Cell, more: Cell): void {
  for (const at of SUMS)
    cell[at] = Math.min(Number.MAX_SAFE_INTEGER, (cell[at] as number) + (more[at] as number));
  for (const [at, which] of KEPT) {
    const [one = 0, other = 0] = [cell[at], more[at]];
    // 0: unknown.
    const isHigher = which === 'highest' || one === 0 || other === 0;
    cell[at] = isHigher ? Math.max(one, other) : Math.min(one, other);
  }
}

/** As a part of a longer time that began so many seconds before. */
export function laterBy(cell: Cell, seconds: number): Cell {
  if (cell[AT.last] === 0 || seconds === 0) return cell;
  const part = cell.slice();
  part[AT.last] = (part[AT.last] as number) + seconds;
  return part;
}

export function requestsOf(cell: Cell): number {
  return REQUESTS_AT.reduce((sum, at) => sum + (cell[at] as number), 0);
}

/** Share of reports that the cache answered. @returns null without reports */
export function hitRatioOf(cell: Cell): number | null {
  return hitRatio((outcome) => cell[outcomeAt(outcome)] as number);
}

/** Outcomes with a counter of their own, or with that of another; all others are `other`. */
const OUTCOMES: Readonly<Partial<Record<Outcome, number>>> = {
  hit: AT.hit,
  stale: AT.stale,
  'stale-if-error': AT.staleIfError,
  miss: AT.miss,
  refresh: AT.refresh,
  forced: AT.refresh,
  collapsed: AT.collapsed,
  failed: AT.failed,
};

/** Each request is counted in one of them. */
export const REQUESTS_AT: readonly number[] = [...new Set([...Object.values(OUTCOMES), AT.other])];

function outcomeAt(outcome: Outcome | null): number {
  return (outcome === null ? undefined : OUTCOMES[outcome]) ?? AT.other;
}

/** Runs for every request. */
function binAt(durationMs: number): number {
  let bin = 0;
  while (bin < BINS_MS.length - 1 && durationMs > (BINS_MS[bin] as number)) bin += 1;
  return AT.bins + bin;
}

export function grow(cell: Cell, at: number, by: number): void {
  cell[at] = (cell[at] as number) + by;
}

export function raise(cell: Cell, at: number, to: number): void {
  if (to > (cell[at] as number)) cell[at] = to;
}

/** @param second of the minute at which it ended, plus one */
export function addRequest(cell: Cell, counted: Counted, durationMs: number, second: number): void {
  const { outcome, tier, fault } = counted;
  grow(cell, outcomeAt(outcome), 1);
  if (tier !== null) grow(cell, tier === 'l1' ? AT.memory : AT.store, 1);
  if (fault !== null) grow(cell, AT[fault], 1);
  if (counted.failedBy === 'credential') grow(cell, AT.failedByCredential, 1);
  grow(cell, AT.platformCallsSaved, counted.saved);
  grow(cell, AT.rows, counted.rows);
  grow(cell, AT.bytesOut, counted.bytesOut);
  grow(cell, AT.viaMcp, counted.viaMcp);
  grow(cell, binAt(durationMs), 1);
  raise(cell, AT.last, second);
  raise(cell, AT.longest, Math.ceil(durationMs));
}

/**
 * A quantile of the latency, interpolated in its bin: never more than the longest request, nor, if that is not known, than
 * the lower bound of the last bin, which has no upper one.
 * @param share from 0 to 1
 * @returns null without requests
 */
export function quantileMs(cell: Cell, share: number): number | null {
  const counts = BINS_MS.map((_, bin) => cell[AT.bins + bin] as number);
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  const wanted = share * all;
  const most = (cell[AT.longest] as number) || (BINS_MS.at(-2) as number);
  let below = 0;
  for (const [bin, count] of counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      const from = bin === 0 ? 0 : (BINS_MS[bin - 1] as number);
      const ms = from + ((BINS_MS[bin] as number) - from) * Math.max(0, (wanted - below) / count);
      return Math.min(Number(ms.toPrecision(3)), most);
    }
    below += count;
  }
  return most;
}
