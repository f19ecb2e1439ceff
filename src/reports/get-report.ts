/**
 * The way of a report, in order:
 *
 *   look up → decide → (stale: refresh behind the answer | missing: fetch, decide again, until nothing is missing)
 *
 * One planned fetch, by the rules of slots and locks:
 *
 *   under way here? wait, holding nothing → acquire a slot → take locks, waiting for no holder → look again, and drop what
 *   others have fetched or have under way → send → keep → release
 *
 * Nothing waits while it holds a slot or a lock, except for its own call. The lock ends with the write to the store, which
 * the answer does not wait for. A try that failed releases both, and counts for every waiter: all back off together.
 */
import { GatewayError } from '../errors.js';
import { timeoutSignal } from '../lib/time.js';
import type { CallDeadline } from '../platform/deadline.js';
import type { CallFailed } from '../platform/failure.js';
import { COULD_NOT_SPLIT, type Decision, isAnswered } from './cache/decide.js';
import { leftToFetch, type PlannedFetch } from './cache/plan.js';
import { decideFor, isFresh, look, type Run, renew, startRun } from './cache/run.js';
import { callKind, fetchDays, isShareSpent } from './fetch/call-platform.js';
import { checkCouldNotRun, checkFrom, noteCompared } from './fetch/cross-check.js';
import type { FetchLock } from './fetch/fetch-locks.js';
import { type FetchResult, LOOK_AGAIN } from './fetch/fetched.js';
import { selectFromAll } from './fetch/select.js';
import type { Gateway } from './gateway.js';
import { ownContext, type Patience, type ReportQuestion, type RequestContext, wholeRef } from './question.js';
import { answerWith, answerWithoutCall, daysOf, outcomeOf, type ReportAnswer } from './report-answer.js';
import type { Entry } from './rows/entry.js';

/** @throws GatewayError for everything that is not an answer, or the platform's refusal */
export async function getReport(
  g: Gateway,
  question: ReportQuestion,
  context: RequestContext,
): Promise<ReportAnswer> {
  const run = await startRun(g, question, context, 'usual');
  const first = await renew(g, run, decideFor(g, run));
  context.trace.mark('decide');
  if (isAnswered(first)) {
    const isStale = first.behind.length > 0;
    if (isStale && !context.directives.onlyIfCached) {
      run.compares = first.compares;
      const name = `${first.mode}|${wholeRef(question).lock}`;
      g.refreshes.start(name, question.report.endpoint, () => refresh(g, run));
    }
    return answerWith(g, run, first, isStale ? 'stale' : 'hit', 0);
  }
  const selected = await selectFromAll(g, question, context);
  if (selected !== null) {
    g.metrics.selection('answered');
    return answerWithoutCall(selected.days, selected.degraded);
  }
  if (context.directives.onlyIfCached) throw new GatewayError('not_cached');
  const last = await fetchMissing(g, run, first);
  const outcome = outcomeOf(run, first, last);
  return answerWith(g, run, last, outcome, outcome === 'hit' ? 0 : first.missing.length);
}

/** Behind an answer that is stale. */
async function refresh(g: Gateway, { question, context }: Run): Promise<void> {
  const run = await startRun(g, question, ownContext(context.id, g.now()), 'fresh');
  let isCompared = false;
  try {
    const days = daysOf(await fetchMissing(g, run, decideFor(g, run)));
    isCompared = days !== null && g.now() < checkFrom(days, question.report);
  } finally {
    // A platform that fails at the whole range may answer for the days that are stale.
    if (run.compares) (isCompared ? noteCompared : checkCouldNotRun)(g, question);
  }
}

/** Until nothing is missing, or time is up. What succeeds is kept, whatever becomes of the rest. */
async function fetchMissing(g: Gateway, run: Run, first: Decision): Promise<Decision> {
  const signal = timeoutSignal(g.config.platform.timeoutMs);
  let decision = first;
  while (!isAnswered(decision)) {
    if (signal.aborted) throw new GatewayError('upstream_timeout');
    run.compares = decision.compares;
    decision = settle(g, run, await fetchAll(g, run, decision, signal));
    if (isAnswered(decision)) decision = await renew(g, run, decision);
    if (isAnswered(decision)) break;
    // What another replica fetched is in the store, not in our hands.
    await look(g, run, decision.missing);
    decision = decideFor(g, run);
  }
  return decision;
}

/** The result of a decision's calls. */
interface Round {
  /** Of a call that failed; null when none did. */
  readonly failure: unknown;
  /** An answer cannot be split by day; `doubtful`: it may be no report at all. */
  readonly unsplittable: 'certain' | 'doubtful' | null;
}

/** Makes all calls of a decision. */
async function fetchAll(g: Gateway, run: Run, decision: Decision, signal: AbortSignal): Promise<Round> {
  // A long backfill leaves a place for requests that need little.
  const atOnce = Math.max(1, g.maxConcurrent() - 1);
  const settled = await settleInLanes(decision.fetches, atOnce, (plan) =>
    g.platform.retrying(callKind(run.question), g.config.platform.timeoutMs, (deadline, after) =>
      tryTogether(g, { run, decision, plan, signal }, deadline, after),
    ),
  );
  let failure: unknown = null;
  let unsplittable: Round['unsplittable'] = null;
  for (const one of settled) {
    if (one.status === 'rejected') {
      failure ??= one.reason;
      continue;
    }
    run.results.push(one.value);
    const { entries, by, unsplittable: not } = one.value;
    failure ??= run.entries.addFetched(entries, by, g.now());
    if (not !== null && unsplittable !== 'certain') unsplittable = not.doubtful ? 'doubtful' : 'certain';
  }
  return { failure, unsplittable };
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

const isExcused = (failure: unknown) =>
  failure instanceof GatewayError && STALE_IF_ERROR_CODES.includes(failure.code);

/**
 * Enough? Else an old entry in place of none, the whole in place of days, and last what may be no report.
 * @throws GatewayError why there is no answer
 */
function settle(g: Gateway, run: Run, { failure, unsplittable }: Round): Decision {
  const decision = decideFor(g, run);
  if (isAnswered(decision)) return decision;
  if (unsplittable === 'certain') {
    run.mode = COULD_NOT_SPLIT;
    return decideFor(g, run);
  }
  if (unsplittable !== null || isExcused(failure) || run.entries.doubtful.size > 0) {
    const old = run.accept === 'fresh' ? decision : decideFor(g, run, 'old');
    if (isAnswered(old)) {
      run.accept = 'old';
      return old;
    }
  }
  if (failure !== null && unsplittable === null) throw failure;
  if (unsplittable !== null) run.mode = COULD_NOT_SPLIT;
  if (run.entries.doubtful.size > 0) run.accept = 'doubtful';
  return decideFor(g, run);
}

/** A planned call of a run's decision. */
interface Planned {
  readonly run: Run;
  readonly decision: Decision;
  readonly plan: PlannedFetch;
  /** Ends the wait for other callers. */
  readonly signal: AbortSignal;
}

/** Of callers who want the same, for one team or after the same failure, one makes the try. */
async function tryTogether(
  g: Gateway,
  planned: Planned,
  deadline: CallDeadline,
  after: CallFailed | null,
): Promise<FetchResult> {
  const { run, decision, plan, signal } = planned;
  const { team, trace } = run.context;
  const epoch = g.purges.seq;
  const names = plan.lockAs === null ? plan.refs.map(({ lock }) => lock) : [plan.lockAs];
  const { value, isOwn } = await g.tries.share({
    name: [team, decision.mode, epoch, JSON.stringify(plan.range), ...names].join(' '),
    after,
    signal: deadline.signal,
    async attempt() {
      // Waiting alone needs no slot of the platform's, and must not wait for one.
      const isUnderWay = g.locks.areUnderWay(names, epoch);
      const tried = isUnderWay ? { others: names, epoch } : await fetchLocked(g, planned, names, deadline);
      if (!('others' in tried)) return tried;
      const result = await g.locks.wait(tried, signal);
      trace.mark('wait');
      return { ...(result ?? LOOK_AGAIN), by: 'other' };
    },
  });
  if (!isOwn) trace.mark('wait');
  return isOwn ? value : { ...value, by: 'other' };
}

const NOTHING: ReadonlyMap<string, Entry> = new Map();

/**
 * With slot and lock in hand, both of which end here.
 * @returns the result, or the locks of others who have all of it under way
 */
async function fetchLocked(
  g: Gateway,
  { run, decision, plan }: Planned,
  names: readonly string[],
  deadline: CallDeadline,
): Promise<FetchResult | Pick<FetchLock<FetchResult>, 'others' | 'epoch'>> {
  const { question, context } = run;
  const { team, patience, trace } = context;
  const slot = await g.platform.acquire(team, deadline).catch(unlessShareIsSpent);
  trace.mark('acquire');
  let lock: FetchLock<FetchResult> | null = null;
  try {
    const taking = g.locks.tryTake(names, g.purges.seq, deadline, patience);
    // Sent with the lock, and read as of when it is granted.
    const looking = lookBehind(g, run, plan, taking);
    lock = await taking;
    trace.mark('lock');
    const found = lock.mine.length === 0 ? NOTHING : await looking(patience);
    const range = lock.mine.length === 0 ? null : leftOf(g, decision.mode, plan, lock, found);
    if (range === null)
      return found.size > 0 || lock.others.length === 0 ? { ...LOOK_AGAIN, entries: found } : lock;
    // A team that has no share left can use what others have under way, and no more.
    if (slot instanceof GatewayError) throw slot;
    const held = lock;
    const { result, kept } = await fetchDays(g, slot, {
      ...question,
      ...{ mode: decision.mode, range, team, known: decision.known, patience },
      learns: true,
      onFurtherCall: () => held.prolong(g.config.platform.timeoutMs),
      onCall(call) {
        trace.called(call);
        trace.mark('fetch');
      },
    });
    trace.mark('keep');
    const whole: FetchResult = { ...result, entries: new Map([...found, ...result.entries]) };
    // Waiters elsewhere are told when it is in the store; the answer does not wait for that.
    g.background(held.succeed(whole, kept));
    return whole;
  } catch (error) {
    // The spent share of one team is nothing to others who wait for its call: they may make it themselves.
    if (!isShareSpent(error)) await lock?.fail(error);
    throw error;
  } finally {
    if (!(slot instanceof GatewayError)) slot.release();
    await lock?.drop(lock.mine);
  }
}

function unlessShareIsSpent(error: unknown): GatewayError {
  if (isShareSpent(error)) return error;
  throw error;
}

/**
 * Looks for all that is to be locked, in the store and among what this process is writing.
 * @returns the usable entries; a request that was kept waiting for the lock does not wait for the store as well, and
 *   gets what this process was writing when the lock was requested. Never rejects
 */
function lookBehind(
  g: Gateway,
  run: Run,
  { refs, lockAs }: PlannedFetch,
  taking: Promise<unknown>,
): (patience: Patience) => Promise<ReadonlyMap<string, Entry>> {
  const { question, context } = run;
  const looked = lockAs === null ? refs : [...refs, wholeRef(question)];
  const beingWritten = g.lookUp.beingWritten(question.report, looked);
  const looking = g.lookUp.read(question.report, looked, context.patience, { after: taking });
  return async ({ isSpent }) => {
    const found = isSpent ? beingWritten : (await looking).found;
    return new Map(
      looked.flatMap((ref): [string, Entry][] => {
        const entry = found.get(ref.id);
        return entry !== undefined && isFresh(g, run, entry, ref) ? [[ref.id, entry]] : [];
      }),
    );
  };
}

/** Between the first look and the lock others may have fetched some of it. @returns null where nothing is left */
function leftOf(
  g: Gateway,
  mode: Decision['mode'],
  plan: PlannedFetch,
  lock: FetchLock<FetchResult>,
  found: ReadonlyMap<string, Entry>,
): PlannedFetch['range'] | null {
  if (plan.lockAs !== null) {
    const hasRefusal = [...found.values()].some(({ header }) => header.form === 'refusal');
    return hasRefusal || plan.refs.every(({ id }) => found.has(id)) ? null : plan.range;
  }
  const left = plan.refs.filter((ref) => lock.mine.includes(ref.lock) && !found.has(ref.id));
  const underWay = plan.refs.filter((ref) => lock.others.includes(ref.lock));
  const { range, refs } = leftToFetch(plan, left, underWay, mode, g.policy.plan);
  const done = lock.mine.filter((name) => !refs.some((ref) => ref.lock === name));
  // Not waited for: the slot is in hand.
  g.background(lock.drop(done));
  return range;
}

/** As `Promise.allSettled` of `run` for each, in order, with so many under way at once. */
async function settleInLanes<T, R>(
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
