/** The immutable inputs of a report's path: the question and the context of its request. */
import { LRUCache } from 'lru-cache';
import { type CacheDirectives, NO_DIRECTIVES } from '../lib/http/cache-directives.js';
import { GATEWAY_TEAM } from '../platform/budget.js';
import { Trace } from '../telemetry/trace.js';
import { daysBetween } from './query/days.js';
import { bytesKey, dayLock, type EntryKey, type ReportSeries, rowsKey } from './query/platform-call.js';

/** A requested report. */
export interface ReportQuestion extends ReportSeries {
  /** rows: normalised · bytes: raw bytes of the platform */
  readonly form: 'rows' | 'bytes';
}

/**
 * Whether a request still waits for the store. After one timeout it reads nothing more; its writes, locks and releases are
 * sent without waiting. So a slow store costs a request one timeout instead of one per call.
 */
export interface Patience {
  isSpent: boolean;
}

export function newPatience(): Patience {
  return { isSpent: false };
}

/** Context of one request, or of the gateway's own work. */
export interface RequestContext {
  /** Of the request, for the log. */
  readonly id: string;
  /** Team id charged for platform calls, or {@link GATEWAY_TEAM}. */
  readonly team: string;
  readonly directives: CacheDirectives;
  /** Arrival by the wall clock, epoch milliseconds. */
  readonly arrivedAtMs: number;
  readonly trace: Trace;
  readonly patience: Patience;
  /** Its platform calls wait for those of all teams, although its team is charged. */
  readonly waitsForAll?: boolean;
}

/** Context of the gateway's own work. @param id for the log */
export function backgroundContext(id: string, nowMs: number): RequestContext {
  return {
    id,
    team: GATEWAY_TEAM,
    directives: NO_DIRECTIVES,
    arrivedAtMs: nowMs,
    trace: new Trace(),
    patience: newPatience(),
  };
}

/** Reference to one entry: a whole period, or a day of it. */
export interface EntryRef {
  /** Name in maps of one series: the date of a day, or the name of the entry. */
  readonly id: string;
  readonly series: string;
  /** In the cache; null: a day of a report that is split by day, see `reports/days/`. */
  readonly key: EntryKey | null;
  /** Lock name during a fetch; rows and bytes of one answer share it. */
  readonly lock: string;
  readonly isDay: boolean;
  readonly from: string | null;
  readonly to: string | null;
}

/** Questions in progress whose refs are memoized: equal string objects are looked up faster. */
const UNDER_WAY = 64;
const MAX_DAYS = 92;
const dayRefsOf = new LRUCache<ReportSeries, readonly EntryRef[]>({ max: UNDER_WAY });
const wholeRefOf = new LRUCache<ReportQuestion, EntryRef>({ max: UNDER_WAY });

/** @param date ISO */
export function dayRef(series: string, date: string): EntryRef {
  return { id: date, series, key: null, lock: dayLock(series, date), isDay: true, from: date, to: date };
}

/** References to the days of a report with a period. */
export function dayRefs(question: ReportSeries): readonly EntryRef[] {
  const known = dayRefsOf.get(question);
  if (known !== undefined) return known;
  const { report, series } = question;
  const dates = daysBetween(report.from as string, report.to as string);
  const refs = dates.map((date) => dayRef(series, date));
  if (refs.length <= MAX_DAYS) dayRefsOf.set(question, refs);
  return refs;
}

export function wholeRef(question: ReportQuestion): EntryRef {
  const known = wholeRefOf.get(question);
  if (known !== undefined) return known;
  const ref = wholeRefFor(question);
  wholeRefOf.set(question, ref);
  return ref;
}

function wholeRefFor({ report, series, form }: ReportQuestion): EntryRef {
  const [from, to] = [report.from, report.to];
  const rows = rowsKey(series, from, to);
  const key = form === 'bytes' ? bytesKey(series, from, to) : rows;
  return { id: key.id, series, key, lock: rows.id, isDay: false, from, to };
}
