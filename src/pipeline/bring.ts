/** Fetches what a report lacks, and decides again, until nothing is missing. */
import { GatewayError } from '../errors.js';
import type { Entry } from '../report/entry.js';
import { timeoutSignal } from '../time.js';
import { type Decision, isAnswered } from './decide.js';
import type { FetchContext, FetchPlanned } from './fetch-planned.js';
import { COULD_NOT_SPLIT } from './mode.js';
import type { EntryRef } from './question.js';
import { decideFor, isFresh, look, type Run, type RunDeps, renew } from './run.js';

export interface BringDeps extends RunDeps {
  readonly fetchPlanned: FetchPlanned;
  /** Longest time a request waits for its entries. */
  readonly timeoutMs: number;
  /** Platform calls that this process may make at once, as of now. */
  readonly maxConcurrent: () => number;
}

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

/** Fetches what is missing. @returns the decision that is answered */
export async function bring(deps: BringDeps, run: Run, first: Decision): Promise<Decision> {
  const signal = timeoutSignal(deps.timeoutMs);
  let decision = first;
  while (!isAnswered(decision)) {
    if (signal.aborted) throw new GatewayError('upstream_timeout');
    run.compares = decision.compares;
    decision = decideAfter(deps, await fetchAll(deps, run, decision, signal), run);
    if (isAnswered(decision)) decision = await renew(deps, run, decision);
    if (isAnswered(decision)) break;
    // What another replica brought is in the store, not in our hands.
    await look(deps, run, decision.missing);
    decision = decideFor(deps, run);
  }
  return decision;
}

/** What next, when something is still missing. @throws GatewayError why there is no answer */
function decideAfter(deps: BringDeps, { failure, unsplittable }: Round, run: Run): Decision {
  const decision = decideFor(deps, run);
  if (isAnswered(decision)) return decision;
  if (unsplittable === 'certain') {
    run.mode = COULD_NOT_SPLIT;
    return decideFor(deps, run);
  }
  const mayUseOld = unsplittable !== null || isExcused(failure);
  if (mayUseOld || run.entries.doubtful.size > 0) {
    const old = run.accept === 'fresh' ? decision : decideFor(deps, run, 'old');
    if (isAnswered(old)) {
      run.accept = 'old';
      return old;
    }
  }
  if (failure !== null && unsplittable === null) throw failure;
  // What may be no report is better than nothing.
  if (unsplittable !== null) run.mode = COULD_NOT_SPLIT;
  if (run.entries.doubtful.size > 0) run.accept = 'doubtful';
  return decideFor(deps, run);
}

/** Makes all calls of a decision; what succeeds is taken, whatever becomes of the rest. */
async function fetchAll(deps: BringDeps, run: Run, decision: Decision, signal: AbortSignal): Promise<Round> {
  const { question, context } = run;
  const { mode, known } = decision;
  const satisfies = (entry: Entry, ref: EntryRef) => isFresh(deps, run, entry, ref);
  const ctx: FetchContext = { question, context, mode, signal, known, satisfies };
  // A long backfill leaves a place for those who ask for little.
  const atOnce = Math.max(1, deps.maxConcurrent() - 1);
  const settled = await settleInTurns(decision.fetches, atOnce, (planned) => deps.fetchPlanned(ctx, planned));
  let failure: unknown = null;
  let unsplittable: Round['unsplittable'] = null;
  for (const one of settled) {
    if (one.status === 'rejected') {
      failure ??= one.reason;
      continue;
    }
    run.results.push(one.value);
    failure ??= run.entries.addBrought(one.value.entries, one.value.by, deps.now());
    if (one.value.unsplittable === null || unsplittable === 'certain') continue;
    unsplittable = one.value.unsplittable.doubtful ? 'doubtful' : 'certain';
  }
  return { failure, unsplittable };
}

/** What came of a decision's calls. */
interface Round {
  /** Of a call that came to nothing; null when none did. */
  readonly failure: unknown;
  /** An answer cannot be split by day; `doubtful`: it may be no report at all. */
  readonly unsplittable: 'certain' | 'doubtful' | null;
}

function isExcused(failure: unknown): boolean {
  return failure instanceof GatewayError && STALE_IF_ERROR_CODES.includes(failure.code);
}

/** As `Promise.allSettled` of `run` for each, in order, with so many under way at once. */
async function settleInTurns<T, R>(
  all: readonly T[],
  atOnce: number,
  run: (one: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const waiting = all.entries();
  async function lane(): Promise<void> {
    for (const [at, one] of waiting) [results[at]] = await Promise.allSettled([run(one)]);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane));
  return results;
}
