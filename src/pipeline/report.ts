/**
 * A report, from the cache where its freshness allows, and from the platform where not:
 *
 *   look up → decide → fetch what is missing → decide again, until nothing is missing
 *
 * What is stale but usable is given at once, and refreshed behind the answer.
 */
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { Outcome } from '../outcome.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { type BringDeps, bring } from './bring.js';
import { type CrossChecks, checkFrom } from './cross-check.js';
import { type Decision, isAnswered } from './decide.js';
import type { FetchResult } from './fetch-result.js';
import { ownContext, type ReportQuestion, type RequestContext, wholeRef } from './question.js';
import { createRefreshes, type Refreshes } from './refreshes.js';
import type { MadeOf } from './replacements.js';
import { beginRun, decideFor, madeOf, type Run, renew } from './run.js';
import type { Selections } from './select.js';

/** A report in hand, and its source. */
export interface ReportAnswer {
  /** In date order; one part when the report is not split, or when it is a refusal or bytes. */
  readonly parts: readonly Entry[];
  readonly outcome: Outcome;
  /** For a report that is split by day: how many of its days were asked for. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** Whether it may be kept at all: not what the platform said no-store to. */
  readonly storable: boolean;
  /** For an answer from days: from when on it is worth a check, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** What a finished body of it rests on; null: none may be kept in this process. */
  readonly madeOf: MadeOf | null;
}

export interface ReportOptions extends BringDeps {
  readonly logger: Logger;
  /** Told of every answer that was joined from days, and asked whether a call should bring all of them. */
  readonly crossChecks: Pick<CrossChecks, 'isDue' | 'wasCompared' | 'couldNotCompare' | 'joined'>;
  readonly background: (work: Promise<unknown>) => void;
  /** Answers from reports that hold more. */
  readonly selections: Pick<Selections, 'answer'>;
}

/** @throws GatewayError for everything that is not an answer, or the platform's refusal */
export type Report = (question: ReportQuestion, context: RequestContext) => Promise<ReportAnswer>;

export function createReport(options: ReportOptions): Report {
  const refreshes = createRefreshes(options);

  return async function report(question, context) {
    const run = await beginRun(options, question, context, 'usual');
    const decision = await renew(options, run, decideFor(options, run));
    context.trace.mark('decide');
    if (isAnswered(decision)) {
      const isStale = decision.behind.length > 0;
      if (isStale && !context.directives.onlyIfCached) {
        run.compares = decision.compares;
        refreshBehind({ ...options, refreshes }, run, decision);
      }
      return answerWith(options, run, decision, isStale ? 'stale' : 'hit', 0);
    }
    const selected = await options.selections.answer(question, context);
    if (selected !== null) return answerWithoutCall(selected.days, selected.degraded);
    if (context.directives.onlyIfCached) throw new GatewayError('not_cached');
    const brought = await bring(options, run, decision);
    const outcome = outcomeOf(run, decision, brought);
    return answerWith(options, run, brought, outcome, outcome === 'hit' ? 0 : decision.missing.length);
  };
}

/**
 * An answer of days that are at hand, for which nothing was fetched and nothing is to be checked. It is made anew each time:
 * what it rests on may be erased, or refuted, while the generation of its kind stays.
 */
export function answerWithoutCall(days: readonly Entry<RowsHeader>[], degraded = false): ReportAnswer {
  return {
    ...{ parts: days, outcome: 'hit', days: { fetched: 0, total: days.length }, degraded },
    ...{ stored: false, storable: true, checkFromMs: null, madeOf: null },
  };
}

/** What an answer is called for which something had to be brought. */
function outcomeOf(run: Run, decision: Decision, brought: Decision): Outcome {
  if (run.accept === 'old') return 'stale-if-error';
  if (run.results.some(({ by }) => by === 'own')) return decision.outcome;
  // Another replica had answered with it before the question came, and was only about to write it.
  return isFetchedBy(run.context.arrivedAtMs, brought) ? 'hit' : 'collapsed';
}

function refreshBehind(
  options: ReportOptions & { readonly refreshes: Refreshes },
  { question, context }: Run,
  { mode }: Decision,
): void {
  const name = `${mode}|${wholeRef(question).lock}`;
  options.refreshes.start(name, question.report.endpoint, async () => {
    const behind = await beginRun(options, question, ownContext(context.id, options.now()), 'fresh');
    let isCompared = false;
    try {
      const days = daysOf(await bring(options, behind, decideFor(options, behind)));
      isCompared = days !== null && options.now() < checkFrom(days, question.report);
    } finally {
      // A platform that fails at the whole range may answer for the days that are stale.
      if (behind.compares) options.crossChecks[isCompared ? 'wasCompared' : 'couldNotCompare'](question);
    }
  });
}

/** Of an answer that is split by day. */
function daysOf({ mode, refusal, parts }: Decision): readonly Entry<RowsHeader>[] | null {
  return mode === 'days' && refusal === null ? (parts as readonly Entry<RowsHeader>[]) : null;
}

function answerWith(
  options: ReportOptions,
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
  // What is stale is compared by its refresh, which brings all days where a check is due.
  const isComparedBehind = outcome === 'stale' && compares;
  if (days !== null && checkFromMs !== null && !isComparedBehind) {
    if (options.now() >= checkFromMs) options.background(options.crossChecks.joined(question, days));
    else if (compares) options.crossChecks.wasCompared(question);
  }
  return {
    parts,
    outcome,
    days: days === null ? null : { fetched, total: refs.length },
    stored: results.some(({ stored }) => stored),
    degraded,
    // Of what was put aside for something older nothing is in the answer.
    storable: results.every((one) => one.storable || (run.accept === 'old' && isDoubtful(one))),
    checkFromMs,
    // What is old was given for want of something newer.
    madeOf: run.accept === 'old' ? null : madeOf(run, parts, days === null),
  };
}

function isFetchedBy(ms: number, { parts, refusal }: Decision): boolean {
  return [...parts, ...(refusal === null ? [] : [refusal])].every(({ header }) => header.fetchedAt < ms);
}

function isDoubtful({ entries }: FetchResult): boolean {
  return [...entries.values()].some(
    (entry) =>
      !(entry instanceof GatewayError) && entry.header.form === 'rows' && entry.header.doubt !== undefined,
  );
}
