/**
 * Row caps that nobody announced: a platform that silently stops at a number of rows gives different ranges the
 * same count. Remembered in this process; it costs at most a few calls to find out again.
 */
import { LRUCache } from 'lru-cache';
import type { EndpointRule } from '../config/schema.js';

/** Counts below are not suspicious: no platform caps so low, and small counts coincide all the time. */
const SMALLEST_CAP = 500;
const SERIES = 2000;

export interface Caps {
  /** Whether this count may be a cap: configured, or equal to the count of another range of the series. */
  suspects(series: string, endpoint: string, range: string, rowCount: number): boolean;
  /** The halves of a suspected range add up to it: for this series the number is a coincidence. */
  clear(series: string, rowCount: number): void;
  /**
   * The halves hold more: the number is a cap of this series, from now on wherever it comes up.
   * @returns other ranges that came with this number before; what was cut from them is wrong
   */
  confirm(series: string, range: string, rowCount: number): readonly string[];
  /** What was cut from this range is gone. */
  forget(series: string, range: string): void;
}

interface Counts {
  readonly byRange: Map<string, number>;
  readonly cleared: Set<number>;
  readonly confirmed: Set<number>;
}

export function createCaps(endpoints: Readonly<Record<string, EndpointRule>>): Caps {
  const known = new LRUCache<string, Counts>({ max: SERIES });

  const countsOf = (series: string): Counts => {
    const counts = known.get(series) ?? {
      byRange: new Map(),
      cleared: new Set(),
      confirmed: new Set(),
    };
    known.set(series, counts);
    return counts;
  };

  return {
    suspects(series, endpoint, range, rowCount) {
      const { rowCap } = endpoints[endpoint] ?? {};
      if (rowCap !== undefined) return rowCount >= rowCap;
      if (rowCount < SMALLEST_CAP) return false;
      const { byRange, cleared, confirmed } = countsOf(series);
      const seenElsewhere = [...byRange].some(([other, count]) => other !== range && count === rowCount);
      byRange.set(range, rowCount);
      if (byRange.size > RANGES) byRange.delete(byRange.keys().next().value as string);
      return confirmed.has(rowCount) || (seenElsewhere && !cleared.has(rowCount));
    },
    clear(series, rowCount) {
      countsOf(series).cleared.add(rowCount);
    },
    confirm(series, range, rowCount) {
      const { byRange, confirmed } = countsOf(series);
      confirmed.add(rowCount);
      const same = [...byRange].filter(([other, count]) => other !== range && count === rowCount);
      return same.map(([other]) => other);
    },
    forget(series, range) {
      countsOf(series).byRange.delete(range);
    },
  };
}

/** Ranges of one series whose counts are remembered. */
const RANGES = 32;
