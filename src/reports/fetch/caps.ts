/**
 * Detects undocumented row caps: a platform that silently truncates returns the same row count for different ranges. Proven caps
 * are shared by replicas, for each kind of report (equal except for dates and accounts); coincidences stay in the process.
 */
import Type from 'typebox';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Gateway } from '../gateway.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';

/** Smaller counts coincide often. */
const SMALLEST_CAP = 500;
const SERIES = 2000;
/** Remembered ranges of a series. */
const RANGES = 32;
const CLEARED_MS = 86_400_000;

interface Counts {
  readonly byRange: Map<string, number>;
  /** Ranges whose halves have no more rows: complete, even if their count is a cap elsewhere. */
  readonly complete: Set<string>;
  /** Coincidental counts: when that was found, and for which length of range. */
  readonly cleared: Map<number, { readonly at: number; readonly days: number }>;
}

export function createCaps(
  known: ReturnType<typeof createKnownCaps>,
  { policy, now }: Pick<Gateway, 'now'> & { readonly policy: Pick<ReportPolicy, 'endpoints'> },
) {
  const series = createLastUsed<Counts>(SERIES);

  const countsOf = (id: string): Counts => {
    const counts = series.get(id) ?? { byRange: new Map(), complete: new Set(), cleared: new Map() };
    series.set(id, counts);
    return counts;
  };

  /** A clock set back must not prolong a coincidence. */
  function isCleared({ cleared }: Counts, range: string, rowCount: number): boolean {
    const known = cleared.get(rowCount);
    if (known === undefined || lengthOf(range) > known.days) return false;
    const ageMs = now() - known.at;
    return ageMs >= 0 && ageMs < CLEARED_MS;
  }

  return {
    /** Whether the count may be a cap: configured, proven, or equal to that of another range. */
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
    /** The halves have no more rows: for ranges up to this length the count is a coincidence, unless the cap is proven. */
    clear(what: ReportSeries, range: string, rowCount: number): void {
      const { byRange, complete, cleared } = countsOf(what.series);
      byRange.set(range, rowCount);
      complete.add(range);
      if (!known.has(what, rowCount)) cleared.set(rowCount, { at: now(), days: lengthOf(range) });
    },
    /**
     * The halves have more rows: the count is a cap.
     * @returns other ranges with this count; days split from them are wrong
     */
    async confirm(what: ReportSeries, range: string, rowCount: number): Promise<readonly string[]> {
      const { byRange, complete, cleared } = countsOf(what.series);
      cleared.delete(rowCount);
      await known.learn(what, rowCount);
      const same = [...byRange].filter(([other, count]) => other !== range && count === rowCount);
      return same.map(([other]) => other).filter((other) => !complete.has(other));
    },
    /** Days split from this range were purged, or not stored. */
    forget(id: string, range: string): void {
      forget(countsOf(id), range);
    },
  };
}

function forget({ byRange, complete }: Counts, range: string): void {
  byRange.delete(range);
  complete.delete(range);
}

/** Days of a range `from/to`; 0 if open. */
function lengthOf(range: string): number {
  const [from, to] = range.split('/').map((date) => dayNumber(date));
  return from == null || to == null ? 0 : to - from + 1;
}

/** Limits; the oldest are dropped. */
const MAX_KINDS = 200;
const MAX_CAPS = 8;
const KEPT_MS = 30 * 86_400_000;

const CapList = recordForm(
  Type.Array(
    Type.Object({
      count: Type.Number(),
      /** The series that proved it; only this one can refute it. */
      series: Type.String(),
      /** Milliseconds since the epoch. */
      at: Type.Number(),
    }),
  ),
);
type KnownCap = RecordOf<typeof CapList>[number];

/** Proven row caps: a registry record for each kind. */
export function createKnownCaps(
  registry: Registry,
  kindOf: (report: Report) => string,
  { now, logger, background }: Pick<Gateway, 'now' | 'logger' | 'background'>,
) {
  /** Caps that the registry did not accept. */
  const own = new Map<string, readonly KnownCap[]>();

  const book = createRecordBook<readonly KnownCap[]>(registry, {
    prefix: 'caps/',
    max: MAX_KINDS,
    read: CapList.read,
  });
  const stored = (kind: string) => book.get(kind) ?? [];

  function all({ report }: ReportSeries): readonly KnownCap[] {
    const kind = kindOf(report);
    return [...stored(kind), ...(own.get(kind) ?? [])].filter(({ at }) => now() - at < KEPT_MS);
  }

  async function change(
    { report }: ReportSeries,
    step: (caps: readonly KnownCap[]) => readonly KnownCap[],
  ): Promise<void> {
    const kind = kindOf(report);
    try {
      await book.change(kind, (before) => {
        const after = step(before ?? []);
        return JSON.stringify(after) === JSON.stringify(before ?? []) ? null : after;
      });
      own.delete(kind);
    } catch (error) {
      if (own.size >= MAX_KINDS) own.clear();
      own.set(kind, step(own.get(kind) ?? stored(kind)));
      logger.warn(
        { err: error, kind },
        'failed to share a row cap with other replicas; this process still applies it',
      );
    }
  }

  async function unlearn(what: ReportSeries, isNone: (cap: KnownCap) => boolean): Promise<void> {
    const isTakenBack = (cap: KnownCap) => cap.series === what.series && isNone(cap);
    const [cap] = all(what).filter(isTakenBack);
    if (cap === undefined) return;
    await change(what, (caps) => caps.filter((one) => !isTakenBack(one)));
    logger.info(
      { endpoint: what.report.endpoint, rows: cap.count },
      'an answer exceeded a learned row cap: forgot the cap, and such answers are no longer fetched in halves',
    );
  }

  return {
    has: (what: ReportSeries, rowCount: number): boolean => all(what).some(({ count }) => count === rowCount),
    /** Never fails: without the registry the cap is kept in this process. */
    async learn(what: ReportSeries, rowCount: number): Promise<void> {
      if (all(what).some(({ count, series }) => count === rowCount && series === what.series)) return;
      const cap = { count: rowCount, series: what.series, at: now() };
      await change(what, (caps) => [...caps.filter(({ count }) => count !== rowCount), cap].slice(-MAX_CAPS));
      logger.warn(
        { endpoint: what.report.endpoint, rows: rowCount },
        'the platform truncates answers at a row count: fetching answers of that size in halves; consider report.endpoints.*.rowCap',
      );
    },
    /** Refutes lower caps of the series. */
    exceeded(what: ReportSeries, rowCount: number): void {
      if (all(what).some(({ count, series }) => series === what.series && count < rowCount)) {
        background(unlearn(what, ({ count }) => count < rowCount));
      }
    },
  };
}
