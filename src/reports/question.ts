/** What is asked for, and by whom: what the steps of a report hand on, and never change. */
import { LRUCache } from 'lru-cache';
import { type CacheDirectives, NO_DIRECTIVES } from '../lib/http/cache-directives.js';
import { Trace } from '../telemetry/trace.js';
import { daysBetween } from './query/days.js';
import { bytesKey, dayKey, dayKeys, type EntryKey, rowsKey } from './query/keys.js';
import type { ReportSeries } from './query/platform-call.js';

/** A report that is asked for. */
export interface ReportQuestion extends ReportSeries {
  /** rows: normalised · bytes: the platform's own. */
  readonly form: 'rows' | 'bytes';
}

/**
 * What one request still waits for the store. Once a call was not answered in time the rest of the request goes on as if
 * the store were away: it reads nothing more, and what it writes, locks and releases is sent, but not waited for. So a
 * slow store costs a request one time-out, not one for each of its calls.
 */
export interface Patience {
  isSpent: boolean;
}

export function newPatience(): Patience {
  return { isSpent: false };
}

/** The circumstances of one request, or of work that the gateway does by itself. */
export interface RequestContext {
  /** Of the request, for the log. */
  readonly id: string;
  /** Who pays for platform calls: a team's id, or {@link GATEWAY_TEAM}. */
  readonly team: string;
  readonly directives: CacheDirectives;
  /** Reading of the movable clock at which everything in it is judged, epoch milliseconds. */
  readonly arrivedAtMs: number;
  readonly trace: Trace;
  /** What it still waits for the store. */
  readonly patience: Patience;
}

/** Calls nobody asked for are charged to this name. */
export const GATEWAY_TEAM = 'gateway';

/**
 * The circumstances of work that nobody asked for.
 * @param id names it in the log
 */
export function ownContext(id: string, nowMs: number): RequestContext {
  return {
    ...{ id, team: GATEWAY_TEAM, directives: NO_DIRECTIVES, arrivedAtMs: nowMs },
    ...{ trace: new Trace(), patience: newPatience() },
  };
}

/** One entry that is looked for: a whole period, or a day of it. */
export interface EntryRef extends EntryKey {
  /** What is locked while it is fetched: rows and bytes of one answer come together. */
  readonly lock: string;
  /** One day of a report that is split by day; else the report as a whole. */
  readonly isDay: boolean;
  readonly from: string | null;
  readonly to: string | null;
}

export function dayRef(series: string, date: string): EntryRef {
  return refOfDay(dayKey(series, date), date);
}

function refOfDay({ id, series, group, field }: EntryKey, date: string): EntryRef {
  return { id, series, group, field, lock: id, isDay: true, from: date, to: date };
}

/** Of questions that are under way: each asks for its entries several times, and names are looked up faster again. */
const UNDER_WAY = 64;
const MOST_DAYS = 92;
const dayRefsOf = new LRUCache<ReportSeries, readonly EntryRef[]>({ max: UNDER_WAY });
const wholeRefOf = new LRUCache<ReportQuestion, EntryRef>({ max: UNDER_WAY });

/** The entries of its days, for a report with a period. */
export function dayRefs(question: ReportSeries): readonly EntryRef[] {
  const known = dayRefsOf.get(question);
  if (known !== undefined) return known;
  const { report, series } = question;
  const dates = daysBetween(report.from as string, report.to as string);
  const refs = dayKeys(series, dates).map((key, at) => refOfDay(key, dates[at] as string));
  if (refs.length <= MOST_DAYS) dayRefsOf.set(question, refs);
  return refs;
}

/** The entry that holds the report as a whole. */
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
  return { ...key, lock: rows.id, isDay: false, from, to };
}
