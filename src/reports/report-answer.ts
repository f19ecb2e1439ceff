/** The answer to a report: its parts, how they were obtained, and what may be kept of it. */
import { GatewayError } from '../errors.js';
import type { Outcome } from '../outcome.js';
import type { Decision } from './cache/decide.js';
import type { MadeOf } from './cache/replacements.js';
import { madeOf, type Run } from './cache/run.js';
import { checkFrom, checkJoin, noteCompared } from './fetch/cross-check.js';
import type { FetchResult } from './fetch/fetched.js';
import type { Gateway } from './gateway.js';
import type { Entry, RowsHeader } from './rows/entry.js';

/** A report in hand, and its source. */
export interface ReportAnswer {
  /** In date order; one part when the report is not split, or when it is a refusal or bytes. */
  readonly parts: readonly Entry[];
  readonly outcome: Outcome;
  /** For a report that is split by day: how many of its days were fetched. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** Whether it may be kept at all: not after `no-store` of the platform. */
  readonly storable: boolean;
  /** For an answer from days: from when on it is worth a check, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** What a finished body of it rests on; null: none may be kept in this process. */
  readonly madeOf: MadeOf | null;
}

/**
 * An answer of days in hand, for which nothing was fetched and nothing is to be checked. It is made anew each time: what it
 * rests on may be erased, or refuted, while the generation of its kind stays.
 */
export function answerWithoutCall(days: readonly Entry<RowsHeader>[], degraded = false): ReportAnswer {
  return {
    ...{ parts: days, outcome: 'hit', days: { fetched: 0, total: days.length }, degraded },
    ...{ stored: false, storable: true, checkFromMs: null, madeOf: null },
  };
}

/** The outcome of an answer for which something was fetched. */
export function outcomeOf(run: Run, first: Decision, { parts, refusal }: Decision): Outcome {
  if (run.accept === 'old') return 'stale-if-error';
  if (run.results.some(({ by }) => by === 'own')) return first.outcome;
  // Another replica had answered with it before the question came, and was only about to write it.
  const all = refusal === null ? parts : [...parts, refusal];
  return all.every(({ header }) => header.fetchedAt < run.context.arrivedAtMs) ? 'hit' : 'collapsed';
}

/** The days of an answer that is split by day; null for others. */
export function daysOf({ mode, refusal, parts }: Decision): readonly Entry<RowsHeader>[] | null {
  return mode === 'days' && refusal === null ? (parts as readonly Entry<RowsHeader>[]) : null;
}

/** The answer of a decision for which nothing is missing. @param fetched how many of its days were fetched */
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
  const isForgotten = days?.some(({ header }) => header.forgotten !== undefined) === true;
  const checkFromMs = days === null || isForgotten ? null : checkFrom(days, question.report);
  // A stale answer is compared by its refresh, which brings all days where a check is due.
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
    // Nothing is in the answer of what was put aside for something older.
    storable: results.every((one) => one.storable || (run.accept === 'old' && isDoubtful(one))),
    checkFromMs,
    // An old answer is given for want of a newer one.
    madeOf: run.accept === 'old' ? null : madeOf(run, parts, days === null),
  };
}

function isDoubtful({ entries }: FetchResult): boolean {
  return [...entries.values()].some(
    (entry) =>
      !(entry instanceof GatewayError) && entry.header.form === 'rows' && entry.header.doubt !== undefined,
  );
}
