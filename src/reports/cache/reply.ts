/** An answer as HTTP: a body with its headers, or a 304. */
import type { CacheDirectives } from '../../lib/http/cache-directives.js';
import { turn } from '../../lib/time.js';
import { type CacheStatus, writeCacheStatus } from '../../outcome.js';
import type { Trace } from '../../telemetry/trace.js';
import type { Coding } from '../query/output-options.js';
import type { Query } from '../query.js';
import type { RequestContext } from '../question.js';
import { HIT_BYTES, type ReportReply } from '../report-call.js';
import type { Answer, Source } from './answer.js';
import type { Finished, Replies } from './finished.js';

// A finished answer as HTTP: validators, age and lifetime, 304 (RFC 9110, section 13; RFC 9111, section 5).

export interface Validators {
  /** Opaque tag of the plain body, without quotes. */
  readonly tag: string;
  readonly asOfMs: number;
  readonly freshUntilMs: number;
  /** When a relative period changes its days; else Infinity. */
  readonly meansUntilMs: number;
  /** False after `no-store` of the platform, which is passed on. */
  readonly keep: boolean;
}

export const VARY = 'accept, accept-encoding, authorization, x-api-key';

/** A strong tag differs by content coding (RFC 9110, section 8.8.3). */
export function entityTag(tag: string, coding: Coding): string {
  return coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`;
}

/**
 * Whether the caller already has this answer in the negotiated coding. Another coding does not count: the caller may not
 * accept it now.
 */
export function isNotModified(ifNoneMatch: string | undefined, tag: string, coding: Coding): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const held = ifNoneMatch.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return held.includes(entityTag(tag, coding));
}

/** Headers that a 200 and a 304 share. */
export function cacheHeaders(
  validators: Validators,
  coding: Coding,
  status: Omit<CacheStatus, 'ttlS'>,
  nowMs: number,
): Record<string, string> {
  const ageS = Math.max(0, Math.floor((nowMs - validators.asOfMs) / 1000));
  const leftS = Math.floor((validators.freshUntilMs - nowMs) / 1000);
  // A relative period limits the lifetime, too.
  const usableS = Math.min(leftS, Math.floor((validators.meansUntilMs - nowMs) / 1000));
  return {
    etag: entityTag(validators.tag, coding),
    age: String(ageS),
    // Caches subtract age from max-age.
    'cache-control': validators.keep
      ? `private, max-age=${ageS + Math.max(0, usableS)}`
      : 'private, no-store',
    'cache-status': writeCacheStatus(Object.assign({ ttlS: leftS }, status)),
    vary: VARY,
  };
}

export function createReply(now: () => number, background: (work: Promise<unknown>) => void) {
  return async (
    query: Query,
    { trace }: Pick<RequestContext, 'trace'>,
    answer: Answer,
    ifNoneMatch: string | undefined,
  ): Promise<ReportReply> => {
    const { status, tag, coding, source } = answer;
    noteOnTrace(trace, query, source, answer.rowCount);
    // The caller has this answer in this coding (RFC 9110, section 13.1.2: for a 200 alone).
    if (status === 200 && isNotModified(ifNoneMatch, tag, coding)) {
      // Built for memory anyway: the caller will revalidate again.
      if (source.storable && answer.weight <= HIT_BYTES) background(turn().then(answer.body));
      return { status: 304, headers: headersOf(query, answer, source, now()), body: null };
    }
    const finished = await answer.body();
    trace.mark('render');
    return withBody(query, finished, headersOf(query, answer, source, now()));
  };
}

const FROM_MEMORY: Source = {
  outcome: 'hit',
  tier: 'l1',
  stored: false,
  degraded: false,
  storable: true,
  isWhole: true,
  days: null,
};

/** The reply of an answer in memory; recomposed when its age or lifetime in seconds changes. */
export function replyFromMemory(
  query: Query,
  finished: Finished,
  ifNoneMatch: string | undefined,
  nowMs: number,
): ReportReply {
  let { replies } = finished;
  if (replies?.query !== query || nowMs < replies.fromMs || nowMs >= replies.untilMs) {
    replies = composeReplies(query, finished, nowMs);
    finished.replies = replies;
  }
  return isNotModified(ifNoneMatch, finished.tag, finished.coding) ? replies.notModified : replies.whole;
}

/** Records a {@link replyFromMemory} on the trace. */
export function noteFromMemory(trace: Trace, query: Query, finished: Finished, reply: ReportReply): void {
  noteOnTrace(trace, query, FROM_MEMORY, finished.rowCount);
  if (reply.body !== null) trace.mark('render');
}

/** Tells who asked for a fresher answer without the scope `cache:refresh` that a hit is as old as it would have been. */
export function tellIgnored(reply: ReportReply, { ignoredMaxAgeMs }: CacheDirectives): ReportReply {
  if (ignoredMaxAgeMs === undefined) return reply;
  const { age, 'cache-status': status = '' } = reply.headers;
  if (Number(age) * 1000 < ignoredMaxAgeMs) return reply;
  const told = status.replace(/^(dsp-gateway; hit;.* detail=)([\w-]+)$/, '$1"$2 refresh-ignored"');
  return { ...reply, headers: { ...reply.headers, 'cache-status': told } };
}

function composeReplies(query: Query, finished: Finished, nowMs: number): Replies {
  const headers = () => headersOf(query, finished, FROM_MEMORY, nowMs);
  const ends = [finished.freshUntilMs, query.meansUntilMs];
  return {
    query,
    fromMs: nowMs,
    untilMs: Math.min(
      nextSecond(nowMs - finished.asOfMs, nowMs),
      ...ends.map((endMs) => secondLess(endMs - nowMs, nowMs)),
    ),
    whole: withBody(query, finished, headers()),
    notModified: { status: 304, headers: headers(), body: null },
  };
}

/** When a growing time reaches the next whole second. */
function nextSecond(ms: number, nowMs: number): number {
  return nowMs + 1000 - (ms - Math.floor(ms / 1000) * 1000);
}

/** When a shrinking time, rounded down, is a second less: just after it is a whole number of seconds. */
function secondLess(ms: number, nowMs: number): number {
  return ms === Number.POSITIVE_INFINITY ? ms : nowMs + (ms - Math.floor(ms / 1000) * 1000) + 1;
}

function withBody(
  { fileName }: Query,
  { status, contentType, coding, body }: Finished,
  headers: Record<string, string>,
): ReportReply {
  headers['content-type'] = contentType;
  if (coding !== 'identity') headers['content-encoding'] = coding;
  if (fileName !== null) headers['content-disposition'] = `attachment; filename="${fileName}"`;
  return { status, headers, body };
}

function headersOf(
  { meansUntilMs }: Query,
  { tag, asOfMs, freshUntilMs, coding, revision, warnings }: Answer | Finished,
  source: Source,
  nowMs: number,
): Record<string, string> {
  const validators = { tag, asOfMs, freshUntilMs, meansUntilMs, keep: source.storable };
  const headers = cacheHeaders(validators, coding, source, nowMs);
  if (revision !== null) headers['report-revision'] = revision;
  if (warnings.length > 0) headers['report-warnings'] = warnings.join(', ');
  return headers;
}

function noteOnTrace(trace: Trace, query: Query, { outcome, tier, isWhole }: Source, rows: number): void {
  trace.outcome = outcome;
  trace.tier = tier;
  trace.rows = rows;
  // Platform calls that it would have cost without a cache. The cache saves none for totals that it does not give.
  trace.plainCalls = query.totals !== null && isWhole ? 2 : 1;
}
