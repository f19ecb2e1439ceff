/**
 * Row caps that nobody announced: a platform that silently stops at a number of rows gives different ranges the
 * same count. A cap that was proven is shared by replicas, for its kind of report; that a count is a coincidence is
 * remembered in this process, for it costs at most a few calls to find out again.
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

/** Kinds and caps of a kind that are remembered; those learned first go first. */
const MAX_KINDS = 200;
const MAX_CAPS = 8;
/** A cap that was not seen again for so long is forgotten. */
const KEPT_MS = 30 * 86_400_000;

const CapList = recordForm(
  Type.Array(
    Type.Object({
      count: Type.Number(),
      /** The series that proved it: only that one can take it back. */
      series: Type.String(),
      /** Milliseconds since the epoch. */
      at: Type.Number(),
    }),
  ),
);
type KnownCap = RecordOf<typeof CapList>[number];

type KnownCaps = ReturnType<typeof createKnownCaps>;

/**
 * Row caps that were proven, as records of the registry: replicas share them, and a restart keeps them. One record for each
 * kind of report.
 * @param kindOf identity of a kind of report
 */
export function createKnownCaps(
  registry: Registry,
  kindOf: (report: Report) => string,
  { now, logger, background }: Pick<Gateway, 'now' | 'logger' | 'background'>,
) {
  /** What the registry did not take. */
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
    /** Never fails: what the registry does not take this process knows all the same. */
    async learn(what: ReportSeries, rowCount: number): Promise<void> {
      if (all(what).some(({ count, series }) => count === rowCount && series === what.series)) return;
      const cap = { count: rowCount, series: what.series, at: now() };
      await change(what, (caps) => [...caps.filter(({ count }) => count !== rowCount), cap].slice(-MAX_CAPS));
      logger.warn(
        { endpoint: what.report.endpoint, rows: rowCount },
        'the platform truncates answers at a row count: fetching answers of that size in halves; consider report.endpoints.*.rowCap',
      );
    },
    /** An answer with so many rows: lower caps of its series are none any more. */
    exceeded(what: ReportSeries, rowCount: number): void {
      if (all(what).some(({ count, series }) => series === what.series && count < rowCount)) {
        background(unlearn(what, ({ count }) => count < rowCount));
      }
    },
  };
}
