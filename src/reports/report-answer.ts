/** The answer to a report: its parts, how they were obtained, and whether it may be cached. */
import { GatewayError, type KnownPeriod } from '../errors.js';
import { toProblem } from '../lib/http/problem.js';
import type { Outcome } from '../outcome.js';
import type { Decision } from './cache/decide.js';
import type { MadeOf } from './cache/replacements.js';
import { madeOf, type Run } from './cache/run.js';
import { checkFrom, checkJoin, noteCompared } from './fetch/cross-check.js';
import type { FetchResult } from './fetch/fetched.js';
import type { Gateway } from './gateway.js';
import type { Entry, RowsHeader } from './rows/entry.js';

export interface ReportAnswer {
  /** In date order; a single part for unsplit reports, refusals and bytes. */
  readonly parts: readonly Entry[];
  readonly outcome: Outcome;
  /** For a report that is split by day. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** False after `no-store` of the platform. */
  readonly storable: boolean;
  /** For an answer joined from days: when its next cross-check is due, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** Data that a finished body depends on; null: do not keep the body in memory. */
  readonly madeOf: MadeOf | null;
}

/** An answer without a platform call or a check. Not kept in memory: its data may be erased without a new generation. */
export function answerWithoutCall(days: readonly Entry<RowsHeader>[], degraded = false): ReportAnswer {
  return {
    parts: days,
    outcome: 'hit',
    days: { fetched: 0, total: days.length },
    degraded,
    stored: false,
    storable: true,
    checkFromMs: null,
    madeOf: null,
  };
}

/** Outcome of an answer after a fetch. */
export function outcomeOf(run: Run, first: Decision, { parts, refusal }: Decision): Outcome {
  if (run.minFreshness === 'old') return 'stale-if-error';
  if (run.results.some(({ by }) => by === 'own')) return first.outcome;
  // Fetched by another replica before this request arrived, and stored just now: a hit.
  const all = refusal === null ? parts : [...parts, refusal];
  return all.every(({ header }) => header.fetchedAt < run.context.arrivedAtMs) ? 'hit' : 'collapsed';
}

/** Days of an answer that is split by day, else null. */
export function daysOf({ mode, refusal, parts }: Decision): readonly Entry<RowsHeader>[] | null {
  return mode === 'days' && refusal === null ? (parts as readonly Entry<RowsHeader>[]) : null;
}

/** Errors for which an old answer is served instead. Never another 4xx. */
const STALE_IF_ERROR_CODES: readonly string[] = [
  'upstream_error',
  'upstream_timeout',
  'upstream_invalid_response',
  'upstream_too_large',
  'upstream_rate_limited',
  'upstream_circuit_open',
  'upstream_budget_exhausted',
  'credential_unavailable',
  'overloaded',
];

/** Whether what the cache has is served in spite of it. */
export const isExcused = (failure: unknown): failure is GatewayError =>
  failure instanceof GatewayError && STALE_IF_ERROR_CODES.includes(failure.code);

const MAX_KNOWN = 5;

/** Tells with a failure which days are answered in spite of it. @param old what may be served when the platform fails */
export function withKnown(error: unknown, { mode, refs, missing }: Decision): unknown {
  if (!isExcused(error) || mode !== 'days' || missing.length === refs.length) return error;
  const unknown = new Set(missing.map(({ id }) => id));
  const periods: KnownPeriod[] = [];
  for (const [at, { id }] of refs.entries()) {
    if (unknown.has(id)) continue;
    const last = periods.at(-1);
    if (last === undefined || last.to !== refs[at - 1]?.id) periods.push({ from: id, to: id });
    else periods.splice(-1, 1, { from: last.from, to: id });
  }
  const known = periods.toReversed().slice(0, MAX_KNOWN);
  const [{ from, to }] = known as [KnownPeriod];
  const advice = toProblem(error, '').help.replace(/\.$/, '');
  const help = `${advice}; meanwhile dateFrom=${from} with dateTo=${to} is answered from the cache.`;
  return new GatewayError(error.code, { ...error.options, status: error.status, help, known });
}

/** The answer of a complete decision. @param fetched number of fetched days */
export function answerWith(
  g: Gateway,
  run: Run,
  decision: Decision,
  outcome: Outcome,
  fetched: number,
): ReportAnswer {
  const { question, results, degraded, compares } = run;
  const { refusal, refs } = decision;
  const parts = refusal === null ? decision.parts : [refusal];
  const days = daysOf(decision);
  const canCheck = days?.every(({ header }) => (header.forgotten ?? header.expiredAtMs) === undefined);
  const checkFromMs = days === null || !canCheck ? null : checkFrom(days, question.report);
  // The refresh of a stale answer makes the comparison itself.
  const isComparedBehind = outcome === 'stale' && compares;
  if (days !== null && checkFromMs !== null && !isComparedBehind) {
    if (g.now() >= checkFromMs) g.background(checkJoin(g, question, days));
    else if (compares) noteCompared(g, question);
  }
  return {
    parts,
    outcome,
    days: days === null ? null : { fetched, total: refs.length },
    stored: results.some(({ stored }) => stored),
    degraded,
    // Doubtful entries that were set aside are not part of the answer.
    storable: results.every((one) => one.storable || (run.minFreshness === 'old' && isDoubtful(one))),
    checkFromMs,
    // An old answer is a fallback: not kept in memory.
    madeOf: run.minFreshness === 'old' ? null : madeOf(run, parts, days === null),
  };
}

function isDoubtful({ entries }: FetchResult): boolean {
  return [...entries.values()].some(
    (entry) =>
      !(entry instanceof GatewayError) && entry.header.form === 'rows' && entry.header.doubt !== undefined,
  );
}
