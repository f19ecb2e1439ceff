/**
 * A report, from the cache where its freshness allows, and from the platform where not:
 *
 *   look up → decide → fetch what is missing → decide again, until nothing is missing
 *
 * What is stale but usable is given at once, and refreshed behind the answer.
 */
import type { Logger } from 'pino';
import type { Purges } from '../cache/purges.js';
import type { Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import { GatewayError } from '../errors.js';
import { NO_WISH } from '../http/cache-directives.js';
import type { Outcome } from '../outcome.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { ReportPolicy } from '../report-policy.js';
import { createTrace } from '../telemetry/trace.js';
import { type Auditor, auditFrom } from './cross-check.js';
import { type DecideInput, type Decision, decide, isAnswered } from './decide.js';
import { createEntries, type EntryStore } from './entries.js';
import type { FetchContext, FetchPlanned } from './fetch-planned.js';
import type { FetchResult } from './fetch-result.js';
import { gradeOf } from './grade.js';
import type { LookUp } from './look-up.js';
import { COULD_NOT_SPLIT, type Mode, modeOf } from './mode.js';
import {
  dayUnits,
  GATEWAY_TEAM,
  type ReportQuestion,
  type RequestContext,
  type Unit,
  wholeUnit,
} from './question.js';
import { createRefreshes } from './refreshes.js';
import { settleInTurns } from './settle-in-turns.js';
import { newPatience } from './store-patience.js';

/** A report in hand, and its source. */
export interface ReportAnswer {
  /** In date order; one part when the report is not split, or when it is a refusal or bytes. */
  readonly parts: readonly Part[];
  readonly outcome: Outcome;
  /** For a report that is split by day: how many of its days were asked for. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** Whether it may be kept at all: not what the platform said no-store to. */
  readonly storable: boolean;
  /** For an answer from days: from when on it is worth a check, epoch milliseconds. */
  readonly checkFromMs: number | null;
}

export interface ReportOptions {
  readonly lookUp: LookUp;
  readonly fetchPlanned: FetchPlanned;
  readonly learner: Pick<Learner, 'standing'>;
  readonly partRefusals: Pick<PartRefusals, 'wholeOnly'>;
  readonly purges: Purges;
  readonly policy: ReportPolicy;
  readonly now: () => number;
  /** Longest time a request waits for its entries. */
  readonly timeoutMs: number;
  /** Platform calls that this process may make at once, as of now. */
  readonly maxConcurrent: () => number;
  readonly logger: Logger;
  /** Told of every answer that was joined from days, and asked whether a call should bring all of them. */
  readonly crossChecks: Pick<Auditor, 'isDue' | 'wasCompared' | 'joined'>;
  readonly background: (work: Promise<unknown>) => void;
}

/** @throws GatewayError for everything that is not an answer, or the platform's refusal */
export type Report = (question: ReportQuestion, context: RequestContext) => Promise<ReportAnswer>;

/** Errors for which an old answer is better than none: never another 4xx. */
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

/** One report under way. */
interface Run {
  readonly question: ReportQuestion;
  readonly context: RequestContext;
  /** What it began under; what was split under another one is void. */
  readonly generation: string;
  readonly entries: EntryStore;
  readonly results: FetchResult[];
  mode: Mode;
  /** What is good enough for it. */
  accept: DecideInput['accept'];
  degraded: boolean;
  /** Its calls brought all days, to be compared. */
  compares: boolean;
}

export function createReport(options: ReportOptions): Report {
  const { lookUp, learner, partRefusals, purges, policy, now, crossChecks } = options;
  const refreshes = createRefreshes(options);

  return async function report(question, context) {
    const run = await begin(question, context, 'usual');
    const decision = decideFor(run);
    context.trace.mark('decide');
    if (isAnswered(decision)) {
      const isStale = decision.behind.length > 0;
      if (isStale && !context.directives.onlyIfCached) refreshBehind(run, decision);
      return answerWith(run, decision, isStale ? 'stale' : 'hit', 0);
    }
    if (context.directives.onlyIfCached) throw new GatewayError('not_cached');
    const brought = await bring(run, decision);
    const isOwn = run.results.some(({ by }) => by === 'own');
    const outcome = run.accept === 'old' ? 'stale-if-error' : isOwn ? decision.outcome : 'collapsed';
    return answerWith(run, brought, outcome, decision.missing.length);
  };

  async function begin(
    question: ReportQuestion,
    context: RequestContext,
    accept: Run['accept'],
  ): Promise<Run> {
    const standing = learner.standing(question.report);
    const mode = modeOf(question, policy, standing);
    const { generation } = standing;
    const entries = createEntries();
    const run: Run = {
      ...{ question, context, generation, entries, mode, accept },
      ...{ results: [], degraded: false, compares: false },
    };
    const whole = wholeUnit(question);
    await look(run, mode.mode === 'days' ? [...dayUnits(question), whole] : [whole]);
    context.trace.mark('look-up');
    return run;
  }

  async function look(run: Run, units: readonly Unit[]): Promise<void> {
    const { question, context, entries } = run;
    const { found, degraded } = await lookUp.read(question.report, units, context.patience);
    entries.addFound(found, now());
    run.degraded = degraded;
  }

  function decideFor(run: Run, accept = run.accept): Decision {
    const { question, context, generation, entries, mode } = run;
    const { directives, arrivedAtMs } = context;
    const isUsual = mode.mode === 'days' && run.accept === 'usual';
    return decide({
      ...{ question, mode, entries, directives, arrivedAtMs, generation, policy, purges, accept },
      wholeOnly: partRefusals.wholeOnly(question.report),
      comparisonDue: isUsual && crossChecks.isDue(question),
    });
  }

  /** Fetches what is missing. @returns the decision that is answered */
  async function bring(run: Run, first: Decision): Promise<Decision> {
    const signal = AbortSignal.timeout(options.timeoutMs);
    let decision = first;
    while (!isAnswered(decision)) {
      if (signal.aborted) throw new GatewayError('upstream_timeout');
      run.compares = decision.compares;
      decision = decideAfter(await fetchAll(run, decision, signal), run);
      if (isAnswered(decision)) break;
      // What another replica brought is in the store, not in our hands.
      await look(run, decision.missing);
      decision = decideFor(run);
    }
    return decision;
  }

  /** What next, when something is still missing. @throws GatewayError why there is no answer */
  function decideAfter({ failure, unsplittable }: Round, run: Run): Decision {
    const decision = decideFor(run);
    if (isAnswered(decision)) return decision;
    if (unsplittable === 'certain') {
      run.mode = COULD_NOT_SPLIT;
      return decideFor(run);
    }
    const mayUseOld = unsplittable !== null || isExcused(failure);
    if (mayUseOld || run.entries.doubtful.size > 0) {
      const old = run.accept === 'fresh' ? decision : decideFor(run, 'old');
      if (isAnswered(old)) {
        run.accept = 'old';
        return old;
      }
    }
    if (failure !== null && unsplittable === null) throw failure;
    // What may be no report is better than nothing.
    if (unsplittable !== null) run.mode = COULD_NOT_SPLIT;
    if (run.entries.doubtful.size > 0) run.accept = 'doubtful';
    return decideFor(run);
  }

  /** Makes all calls of a decision; what succeeds is taken, whatever becomes of the rest. */
  async function fetchAll(run: Run, decision: Decision, signal: AbortSignal): Promise<Round> {
    const { question, context } = run;
    const { mode, known } = decision;
    const satisfies = (part: Part, unit: Unit) => isFresh(run, part, unit);
    const ctx: FetchContext = { question, context, mode, signal, known, satisfies };
    // A long backfill leaves a place for those who ask for little.
    const atOnce = Math.max(1, options.maxConcurrent() - 1);
    const settled = await settleInTurns(decision.fetches, atOnce, (planned) =>
      options.fetchPlanned(ctx, planned),
    );
    let failure: unknown = null;
    let unsplittable: Round['unsplittable'] = null;
    for (const one of settled) {
      if (one.status === 'rejected') {
        failure ??= one.reason;
        continue;
      }
      run.results.push(one.value);
      failure ??= run.entries.addBrought(one.value.entries, one.value.by, now());
      if (one.value.unsplittable === null || unsplittable === 'certain') continue;
      unsplittable = one.value.unsplittable.doubtful ? 'doubtful' : 'certain';
    }
    return { failure, unsplittable };
  }

  /** Whether an entry that somebody else brought meanwhile will do. */
  function isFresh({ question, context, generation, entries }: Run, part: Part, unit: Unit): boolean {
    const { report } = question;
    const { directives, arrivedAtMs } = context;
    const before = entries.known.get(unit.key);
    const wasThere =
      before?.wasThere === true && before.part.header.fetchStartedAt === part.header.fetchStartedAt;
    const entry = { part, source: 'kept' as const, wasThere, atMs: now() };
    const input = { report, directives, arrivedAtMs, generation, policy, purges };
    return gradeOf(entry, unit, input) === 'fresh';
  }

  function refreshBehind({ question, context }: Run, { mode }: Decision): void {
    const name = `${mode}|${wholeUnit(question).lock}`;
    refreshes.start(name, question.report.endpoint, async () => {
      const behind = await begin(
        question,
        {
          ...context,
          team: GATEWAY_TEAM,
          directives: NO_WISH,
          arrivedAtMs: now(),
          trace: createTrace(),
          patience: newPatience(),
        },
        'fresh',
      );
      await bring(behind, decideFor(behind));
    });
  }

  function answerWith(run: Run, decision: Decision, outcome: Outcome, fetched: number): ReportAnswer {
    const { question, results, degraded, compares } = run;
    const { refusal, units } = decision;
    const parts = refusal === null ? decision.parts : [refusal];
    const days = decision.mode === 'days' && refusal === null ? (parts as readonly Part<RowsHeader>[]) : null;
    const checkFromMs = days === null ? null : auditFrom(days, question.report);
    if (days !== null && checkFromMs !== null) {
      if (now() >= checkFromMs) options.background(crossChecks.joined(question, days));
      else if (compares) crossChecks.wasCompared(question);
    }
    return {
      parts,
      outcome,
      days: days === null ? null : { fetched, total: units.length },
      stored: results.some(({ stored }) => stored),
      degraded,
      // Of what was put aside for something older nothing is in the answer.
      storable: results.every((one) => one.storable || (run.accept === 'old' && isDoubtful(one))),
      checkFromMs,
    };
  }
}

/** What came of a decision's calls. */
interface Round {
  /** Of a call that came to nothing; null when none did. */
  readonly failure: unknown;
  /** An answer cannot be split by day; `doubtful`: it may be no report at all. */
  readonly unsplittable: 'certain' | 'doubtful' | null;
}

function isDoubtful({ entries }: FetchResult): boolean {
  return [...entries.values()].some(
    (part) =>
      !(part instanceof GatewayError) && part.header.form === 'rows' && part.header.doubt !== undefined,
  );
}

function isExcused(failure: unknown): boolean {
  return failure instanceof GatewayError && STALE_IF_ERROR_CODES.includes(failure.code);
}
