/**
 * Row caps: a platform that silently truncates returns the same row count for different ranges, mostly a round one. Known caps are
 * configured, or proven by halves with more rows. Proven ones are shared by replicas, for each kind of report (equal except for
 * dates and accounts); coincidences stay in the process.
 */
import Type from 'typebox';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Base } from '../base.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import { SMALLEST_CAP } from '../rows/proves-cap.js';

const SERIES = 2000;
/** Remembered ranges of a series. */
const RANGES = 32;
const DAY_MS = 86_400_000;
/** How long honest counts are remembered. */
const CLEARED_MS = DAY_MS;

interface Counts {
  readonly byRange: Map<string, number>;
  /** Coincidental counts: when that was found, and for which length of range. */
  readonly cleared: Map<number, { readonly at: number; readonly days: number }>;
}

/** What answers of a kind say of all its series. */
interface Honest {
  /** The largest answer: smaller counts are no caps. */
  largest: { readonly rows: number; readonly at: number };
  /** Rows of each day of answers that were complete, with the time. */
  readonly perDay: Map<number, number>;
}

/** Rows that an answer has. */
interface AnswerCount {
  readonly rows: number;
  /** Of each day, if all days have equally many; else null. */
  readonly perDay: number | null;
}

export function createCaps(known: KnownCaps, { now }: Pick<Base, 'now'>) {
  const series = createLastUsed<Counts>(SERIES);
  const kinds = createLastUsed<Honest>(SERIES);

  const countsOf = (id: string): Counts => {
    const counts = series.get(id) ?? { byRange: new Map(), cleared: new Map() };
    series.set(id, counts);
    return counts;
  };
  const honestOf = ({ report }: ReportSeries): Honest => {
    const kind = known.kindOf(report);
    const honest = kinds.get(kind) ?? { largest: { rows: 0, at: 0 }, perDay: new Map() };
    kinds.set(kind, honest);
    return honest;
  };

  /** A clock set back must not prolong a coincidence. */
  const isRecent = (at: number | undefined) => at !== undefined && now() - at >= 0 && now() - at < CLEARED_MS;

  function isCleared({ cleared }: Counts, range: string, rows: number): boolean {
    const found = cleared.get(rows);
    return found !== undefined && lengthOf(range) <= found.days && isRecent(found.at);
  }

  /** Equal counts of ranges that are equally long mean nothing if all of their days have equally many rows. */
  function isRepeated({ byRange }: Counts, range: string, { rows, perDay }: AnswerCount): boolean {
    const isOther = (other: string) =>
      other !== range && (perDay === null || lengthOf(other) !== lengthOf(range));
    return [...byRange].some(([other, count]) => count === rows && isOther(other));
  }

  /** Whether the count looks like a cap, and no other answer of the kind says that it is none. */
  function isRoundFirst({ largest, perDay }: Honest, count: AnswerCount): boolean {
    const isExceeded = count.rows < largest.rows && isRecent(largest.at);
    return (
      isRound(count.rows) && !isExceeded && !(count.perDay !== null && isRecent(perDay.get(count.perDay)))
    );
  }

  return {
    stampOf: known.stampOf,
    ofKind: known.ofKind,
    stampOfAll: known.stampOfAll,
    /**
     * Whether the count may be a cap: it is a known one, that of another range, or a round one. Below a configured cap counts
     * say nothing.
     */
    suspects(what: ReportSeries, range: string, count: AnswerCount): boolean {
      const { rows } = count;
      const rowCap = known.configured(what.report);
      if (rowCap !== null && rows > rowCap) known.noteExceeded(what.report, rows);
      const isKnown = known.of(what.report).includes(rows);
      if (rowCap !== null && rows <= rowCap) return isKnown;
      if (rows < SMALLEST_CAP) return false;
      const counts = countsOf(what.series);
      const honest = honestOf(what);
      const isSuspect = isRepeated(counts, range, count) || isRoundFirst(honest, count);
      counts.byRange.set(range, rows);
      if (counts.byRange.size > RANGES) counts.byRange.delete(counts.byRange.keys().next().value as string);
      if (rows >= honest.largest.rows || !isRecent(honest.largest.at)) honest.largest = { rows, at: now() };
      known.exceeded(what, rows);
      return isKnown || (isSuspect && !isCleared(counts, range, rows));
    },
    /** The halves have no more rows: for ranges up to this length the count is a coincidence, unless the cap is known. */
    clear(what: ReportSeries, range: string, { rows, perDay }: AnswerCount): void {
      countsOf(what.series).cleared.set(rows, { at: now(), days: lengthOf(range) });
      if (perDay !== null) honestOf(what).perDay.set(perDay, now());
    },
    /** The halves have more rows: the count is a cap. */
    async confirm(what: ReportSeries, rowCount: number): Promise<void> {
      countsOf(what.series).cleared.delete(rowCount);
      await known.learn(what, rowCount);
    },
  };
}

/** Usual limits: 500, 1,000, 1,500 …; 512, 1,024, 2,048 … */
function isRound(rows: number): boolean {
  return rows % 500 === 0 || Number.isInteger(Math.log2(rows));
}

/** Days of a range `from/to`; 0 if open. */
function lengthOf(range: string): number {
  const [from, to] = range.split('/').map((date) => dayNumber(date));
  return from == null || to == null ? 0 : to - from + 1;
}

const PREFIX = 'caps/';
/** Limits; the oldest are dropped. */
const MAX_KINDS = 200;
const MAX_CAPS = 8;
const KEPT_MS = 30 * DAY_MS;

const CapList = recordForm(
  Type.Array(
    Type.Object({
      count: Type.Number(),
      /** The series that proved it; only this one can refute it. */
      series: Type.String(),
      /** Absent in records of earlier builds. */
      endpoint: Type.Optional(Type.String()),
      /** Milliseconds since the epoch. */
      at: Type.Number(),
    }),
  ),
);
type KnownCap = RecordOf<typeof CapList>[number];

/** Proven row caps: a registry record for each kind. */
function createCapRecords(registry: Registry, { now, logger }: Pick<Base, 'now' | 'logger'>) {
  /** Caps that the registry did not accept. */
  const own = new Map<string, readonly KnownCap[]>();
  const book = createRecordBook<readonly KnownCap[]>(registry, {
    prefix: PREFIX,
    max: MAX_KINDS,
    read: CapList.read,
  });
  const stored = (kind: string) => book.get(kind) ?? [];
  const list = (): readonly (readonly [kind: string, readonly KnownCap[]])[] => [...book.list(), ...own];
  const isKept = ({ at }: KnownCap) => now() - at < KEPT_MS;
  return {
    stampOfAll: (): string =>
      JSON.stringify(list().map(([kind, caps]) => [kind, ...caps.map(({ count }) => count)])),
    ofKind: (kind: string): readonly KnownCap[] => [...stored(kind), ...(own.get(kind) ?? [])].filter(isKept),
    ofEndpoint: (endpoint: string): readonly KnownCap[] =>
      list()
        .flatMap(([, caps]) => caps)
        .filter((cap) => cap.endpoint === endpoint && isKept(cap)),
    /** Never rejects. */
    async change(kind: string, step: (caps: readonly KnownCap[]) => readonly KnownCap[]): Promise<void> {
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
    },
  };
}

/** What is common to reports of a kind. */
interface ReportKind extends Pick<Report, 'endpoint' | 'split'> {
  /** Id. */
  readonly kind: string;
}

export type KnownCaps = ReturnType<typeof createKnownCaps>;

/** Configured and proven row caps. */
export function createKnownCaps(
  registry: Registry,
  kindOf: (report: Report) => string,
  options: Pick<Base, 'now' | 'logger' | 'background'> & Pick<ReportPolicy, 'endpoints'>,
) {
  const { endpoints, now, logger, background } = options;
  const records = createCapRecords(registry, options);
  /** Needed for each entry of an answer. */
  let ofReports = new WeakMap<Report, ReturnType<typeof look>>();
  const forget = () => {
    ofReports = new WeakMap();
  };
  registry.onChange(PREFIX, forget);
  /** Endpoints for which the log says that their setting was exceeded. */
  const logged = new Set<string>();

  const configured = ({ endpoint }: Pick<Report, 'endpoint'>): number | null =>
    endpoints.get(endpoint)?.rowCap ?? null;

  function look({ kind, endpoint, split }: ReportKind) {
    // A report that is not by date cannot prove a cap: the endpoint's others do.
    const isByDate = split.includes('date');
    const proven = isByDate ? records.ofKind(kind) : records.ofEndpoint(endpoint);
    const all = new Set([configured({ endpoint }) ?? [], proven.map(({ count }) => count)].flat());
    const counts = [...all].sort((a, b) => a - b);
    return { counts, stamp: counts.join(), untilMs: Math.min(...proven.map(({ at }) => at + KEPT_MS)) };
  }

  function knownOf(report: Report) {
    const known = ofReports.get(report);
    if (known !== undefined && now() < known.untilMs) return known;
    const { endpoint, split } = report;
    const made = look({ kind: kindOf(report), endpoint, split });
    ofReports.set(report, made);
    return made;
  }

  const provenBy = ({ report, series }: ReportSeries) =>
    records.ofKind(kindOf(report)).filter((cap) => cap.series === series);

  async function unlearn(what: ReportSeries, belowRows: number): Promise<void> {
    const isRefuted = ({ series, count }: KnownCap) => series === what.series && count < belowRows;
    const [cap] = provenBy(what).filter(isRefuted);
    if (cap === undefined) return;
    await records.change(kindOf(what.report), (caps) => caps.filter((one) => !isRefuted(one)));
    forget();
    logger.info(
      { endpoint: what.report.endpoint, rows: cap.count },
      'an answer exceeded a learned row cap: forgot the cap, and such answers are no longer fetched in halves',
    );
  }

  return {
    kindOf,
    /** Row counts at which the platform truncates such a report, as known now; ascending. */
    of: (report: Report): readonly number[] => knownOf(report).counts,
    /** Changes with them, which invalidates finished answers. */
    stampOf: (report: Report): string => knownOf(report).stamp,
    /** As {@link of}, of reports of a kind. */
    ofKind: (kind: ReportKind): readonly number[] => look(kind).counts,
    /** Changes whenever a cap is proven. */
    stampOfAll: records.stampOfAll,
    configured,
    /** Never fails: without the registry the cap is kept in this process. */
    async learn(what: ReportSeries, rowCount: number): Promise<void> {
      const { endpoint } = what.report;
      const isSame = ({ count }: KnownCap) => count === rowCount;
      if (provenBy(what).some((cap) => isSame(cap) && now() - cap.at < DAY_MS)) return;
      const isNew = !records.ofKind(kindOf(what.report)).some(isSame);
      const cap = { count: rowCount, series: what.series, endpoint, at: now() };
      await records.change(kindOf(what.report), (caps) =>
        [...caps.filter((one) => !isSame(one)), cap].slice(-MAX_CAPS),
      );
      forget();
      if (!isNew) return;
      logger.warn(
        { endpoint, rows: rowCount },
        'the platform truncates answers at a row count: fetching answers of that size in halves; consider report.endpoints.*.rowCap',
      );
    },
    /** Refutes lower caps of the series. */
    exceeded(what: ReportSeries, rowCount: number): void {
      if (provenBy(what).some(({ count }) => count < rowCount)) background(unlearn(what, rowCount));
    },
    /** Once per endpoint: the setting is wrong, at least for some reports. */
    noteExceeded({ endpoint }: Report, rowCount: number): void {
      if (logged.has(endpoint)) return;
      logged.add(endpoint);
      logger.warn(
        { endpoint, rows: rowCount, rowCap: endpoints.get(endpoint)?.rowCap },
        'an answer has more rows than report.endpoints.*.rowCap: correct the setting; only answers of exactly that many rows count as truncated',
      );
    },
  };
}
