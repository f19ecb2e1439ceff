/**
 * Row caps that nobody announced: a platform that silently stops at a number of rows gives different ranges the
 * same count. A cap that was proven is shared by replicas, for its kind of report; that a count is a coincidence is
 * remembered in this process, for it costs at most a few calls to find out again.
 */
import { createLastUsed } from '../last-used.js';
import { dayNumber } from '../report/days.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Gateway } from './gateway.js';
import type { KnownCaps } from './known-caps.js';

/** Counts below are not suspicious: no platform caps so low, and small counts coincide all the time. */
const SMALLEST_CAP = 500;
const SERIES = 2000;
/** Ranges of one series whose counts are remembered. */
const RANGES = 32;
/** For so long a count counts as a coincidence. */
const CLEARED_MS = 86_400_000;

export type Caps = ReturnType<typeof createCaps>;

interface Counts {
  readonly byRange: Map<string, number>;
  /** Ranges whose halves hold no more: nothing is missing from them, however often their count is a cap elsewhere. */
  readonly complete: Set<string>;
  /** Counts that are coincidences: since when that is known, and of ranges of how many days. */
  readonly cleared: Map<number, { readonly at: number; readonly days: number }>;
}

export function createCaps(
  known: KnownCaps,
  { policy, now }: Pick<Gateway, 'now'> & { readonly policy: Pick<ReportPolicy, 'endpoints'> },
) {
  const series = createLastUsed<Counts>(SERIES);

  const countsOf = (id: string): Counts => {
    const counts = series.get(id) ?? { byRange: new Map(), complete: new Set(), cleared: new Map() };
    series.set(id, counts);
    return counts;
  };

  /** A clock that was set back must not make a coincidence last. */
  function isCleared({ cleared }: Counts, range: string, rowCount: number): boolean {
    const known = cleared.get(rowCount);
    if (known === undefined || lengthOf(range) > known.days) return false;
    const ageMs = now() - known.at;
    return ageMs >= 0 && ageMs < CLEARED_MS;
  }

  return {
    /** Whether this count may be a cap: configured, proven for the kind, or equal to the count of another range. */
    suspects(what: ReportSeries, range: string, rowCount: number): boolean {
      const { endpoint } = what.report;
      const { rowCap } = policy.endpoints.get(endpoint) ?? {};
      if (rowCap !== undefined) return rowCount >= rowCap;
      if (rowCount < SMALLEST_CAP) return false;
      const counts = countsOf(what.series);
      const { byRange, complete } = counts;
      const seenElsewhere = [...byRange].some(([other, count]) => other !== range && count === rowCount);
      byRange.set(range, rowCount);
      complete.delete(range);
      if (byRange.size > RANGES) forget(counts, byRange.keys().next().value as string);
      known.exceeded(what, rowCount);
      return (seenElsewhere || known.has(what, rowCount)) && !isCleared(counts, range, rowCount);
    },
    /**
     * The halves of a suspected range do not hold more, and it is kept: for ranges of this series that are no longer the
     * number is a coincidence. Of a cap that was proven it tells nothing: a range may hold exactly as many.
     */
    clear(what: ReportSeries, range: string, rowCount: number): void {
      const { byRange, complete, cleared } = countsOf(what.series);
      byRange.set(range, rowCount);
      complete.add(range);
      if (!known.has(what, rowCount)) cleared.set(rowCount, { at: now(), days: lengthOf(range) });
    },
    /**
     * The halves hold more: the number is a cap, from now on wherever it comes up.
     * @returns other ranges that came with this number before; what was split from them is wrong
     */
    async confirm(what: ReportSeries, range: string, rowCount: number): Promise<readonly string[]> {
      const { byRange, complete, cleared } = countsOf(what.series);
      cleared.delete(rowCount);
      await known.learn(what, rowCount);
      const same = [...byRange].filter(([other, count]) => other !== range && count === rowCount);
      return same.map(([other]) => other).filter((other) => !complete.has(other));
    },
    /** What was split from this range is gone, or was not kept. */
    forget(id: string, range: string): void {
      forget(countsOf(id), range);
    },
  };
}

function forget({ byRange, complete }: Counts, range: string): void {
  byRange.delete(range);
  complete.delete(range);
}

/** Days of a range named `from/to`; 0 when it is open, or none. */
function lengthOf(range: string): number {
  const [from, to] = range.split('/').map((date) => dayNumber(date));
  return from == null || to == null ? 0 : to - from + 1;
}
