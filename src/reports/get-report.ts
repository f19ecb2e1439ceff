/**
 * The path of a report, in order:
 *
 *   look up → decide → (stale: refresh in the background | missing: fetch and decide until nothing is missing)
 *
 * One planned fetch:
 *
 *   in flight in this process? wait without a slot → acquire a slot → take locks without waiting for holders → read the
 *   store again and drop days that others fetched or are fetching → send → store → release
 *
 * A request that holds a slot or a lock waits for its own call only. A lock ends with the write to the store, for which the
 * answer does not wait. A failed attempt releases both and fails for all of its waiters, which back off together.
 */
import { GatewayError, SILENT_S } from '../errors.js';
import { timeoutSignal, uptimeMs } from '../lib/time.js';
import type { CallDeadline } from '../platform/deadline.js';
import type { CallFailed } from '../platform/failure.js';
import type { Claim, Claimed } from '../store/days-port.js';
import { whenAway } from '../store/port.js';
import { NO_SLOT } from '../telemetry/trace.js';
import { COULD_NOT_SPLIT, type Decision, isAnswered } from './cache/decide.js';
import { leftToFetch, type PlannedFetch } from './cache/plan.js';
import { decideFor, isFresh, look, type Run, renew, startRun } from './cache/run.js';
import { callKind, fetchDays } from './fetch/call-platform.js';
import { checkCouldNotRun, checkFrom, mayServe, noteCompared } from './fetch/cross-check.js';
import type { FetchLock } from './fetch/fetch-locks.js';
import { type FetchResult, LOOK_AGAIN } from './fetch/fetched.js';
import { selectFromAll } from './fetch/select.js';
import { isShareSpent } from './fetch/shared-attempts.js';
import type { Gateway } from './gateway.js';
import {
  backgroundContext,
  type EntryRef,
  type Patience,
  type ReportQuestion,
  type RequestContext,
  wholeRef,
} from './question.js';
import {
  answerWith,
  answerWithoutCall,
  daysOf,
  isExcused,
  outcomeOf,
  type ReportAnswer,
  withKnown,
} from './report-answer.js';
import type { Entry } from './rows/entry.js';

/** @throws GatewayError for everything but an answer or a refusal of the platform */
export async function getReport(
  g: Gateway,
  question: ReportQuestion,
  context: RequestContext,
): Promise<ReportAnswer> {
  const answer = await makeAnswer(g, question, context);
  return (await mayServe(g, question, answer, context)) ? answer : await makeAnswer(g, question, context);
}

async function makeAnswer(
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
      g.refreshes.start(name, question.report.endpoint, async () => {
        await fetchStale(g, question, backgroundContext(context.id, g.now()));
      });
    }
    return answerWith(g, run, first, isStale ? 'stale' : 'hit', 0);
  }
  const selected = await selectFromAll(g, question, context);
  if (selected !== null) {
    g.count('selections', { event: 'answered' });
    return answerWithoutCall(selected.days, selected.degraded);
  }
  if (context.directives.onlyIfCached) throw new GatewayError('not_cached');
  const last = await fetchMissing(g, run, first).catch((error: unknown) => {
    throw withKnown(error, decideFor(g, run, 'old'));
  });
  const outcome = outcomeOf(run, first, last);
  return answerWith(g, run, last, outcome, outcome === 'hit' ? 0 : first.missing.length);
}

/**
 * Fetches what is not fresh by the directives of the context: behind a stale answer, or for a watch.
 * @returns the platform's refusal; null: there is none
 * @throws GatewayError if something could not be fetched
 */
export async function fetchStale(
  g: Gateway,
  question: ReportQuestion,
  context: RequestContext,
): Promise<Decision['refusal']> {
  const run = await startRun(g, question, context, 'fresh');
  let isCompared = false;
  try {
    const decision = await fetchMissing(g, run, decideFor(g, run));
    const days = daysOf(decision);
    isCompared = days !== null && g.now() < checkFrom(days, question.report);
    return decision.refusal;
  } finally {
    // A platform that fails for the whole range may still answer the stale days.
    if (run.compares) (isCompared ? noteCompared : checkCouldNotRun)(g, question);
  }
}

/**
 * Fetches until nothing is missing or the time is up. Successful parts are stored even if others fail.
 * @returns a decision of one state of its days, whichever of them came from this request, from another, or from the store
 */
async function fetchMissing(g: Gateway, run: Run, first: Decision): Promise<Decision> {
  const endsAtMs = uptimeMs() + g.config.platform.timeoutMs;
  let decision = first;
  for (;;) {
    if (isAnswered(decision)) decision = await renew(g, run, decision);
    if (isAnswered(decision)) return decision;
    if (uptimeMs() >= endsAtMs) throw new GatewayError('upstream_timeout', { retryAfterS: SILENT_S });
    run.compares = decision.compares;
    decision = settle(g, run, await fetchAll(g, run, decision, endsAtMs));
    if (isAnswered(decision)) continue;
    // Days that another replica fetched are in the store only.
    await look(g, run, decision.missing);
    decision = decideFor(g, run);
  }
}

/** The result of a decision's calls. */
interface Round {
  /** Of the first failed call; null if none failed. */
  readonly failure: unknown;
  /** An answer cannot be split by day; `doubtful`: it may not be a report. */
  readonly unsplittable: 'certain' | 'doubtful' | null;
}

async function fetchAll(g: Gateway, run: Run, decision: Decision, endsAtMs: number): Promise<Round> {
  // A long backfill leaves one call for small requests.
  const atOnce = Math.max(1, g.maxConcurrent() - 1);
  const settled = await settleConcurrently(decision.fetches, atOnce, (plan) =>
    g.platform.retrying(callKind(run.question), g.config.platform.timeoutMs, (deadline, after) =>
      shareAttempt(g, { run, decision, plan, endsAtMs }, deadline, after),
    ),
  );
  let failure: unknown = null;
  let unsplittable: Round['unsplittable'] = null;
  for (const one of settled) {
    if (one.status === 'rejected') {
      failure ??= one.reason;
      // Also behind an answer from the cache.
      if (one.reason instanceof GatewayError && one.reason.options.noSlot)
        run.context.trace.callFailure = NO_SLOT;
      continue;
    }
    run.results.push(one.value);
    const { entries, by, unsplittable: not } = one.value;
    failure ??= run.entries.addFetched(entries, by, g.now());
    if (not !== null && unsplittable !== 'certain') unsplittable = not.doubtful ? 'doubtful' : 'certain';
  }
  return { failure, unsplittable };
}

/**
 * Decides what to do after a round: answer, else use old entries, else fetch the whole instead of days, and last accept
 * an answer that may not be a report.
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
    const old = run.minFreshness === 'fresh' ? decision : decideFor(g, run, 'old');
    if (isAnswered(old)) {
      run.minFreshness = 'old';
      return old;
    }
  }
  if (failure !== null && unsplittable === null) throw failure;
  if (unsplittable !== null) run.mode = COULD_NOT_SPLIT;
  if (run.entries.doubtful.size > 0) run.minFreshness = 'doubtful';
  return decideFor(g, run);
}

/** One planned call of a decision. */
interface Planned {
  readonly run: Run;
  readonly decision: Decision;
  readonly plan: PlannedFetch;
  /** End of the wait for other callers, by `uptimeMs`. */
  readonly endsAtMs: number;
}

/** Shares one attempt among equal requests of a team, and among requests that failed together. */
async function shareAttempt(
  g: Gateway,
  planned: Planned,
  deadline: CallDeadline,
  after: CallFailed | null,
): Promise<FetchResult> {
  const { run, decision, plan, endsAtMs } = planned;
  const { team, trace, waitsForAll } = run.context;
  const epoch = g.purges.seq;
  const names = plan.refs.map(({ lock }) => lock);
  const { value, isOwn } = await g.attempts.share({
    // A caller does not share what waits for all.
    name: [team, waitsForAll === true, decision.mode, epoch, JSON.stringify(plan.range), ...names].join(' '),
    after,
    signal: deadline.signal,
    async attempt() {
      // Waiting needs no slot.
      const isUnderWay = g.locks.areUnderWay(names, epoch);
      const tried = isUnderWay ? { others: names, epoch } : await fetchLocked(g, planned, names, deadline);
      if (!('others' in tried)) return tried;
      const result = await g.locks.wait(tried, timeoutSignal(Math.ceil(Math.max(0, endsAtMs - uptimeMs()))));
      trace.mark('wait');
      return { ...(result ?? LOOK_AGAIN), by: 'other' };
    },
  });
  if (!isOwn) trace.mark('wait');
  return isOwn ? value : { ...value, by: 'other' };
}

const NOTHING: ReadonlyMap<string, Entry> = new Map();

/**
 * Fetches with a slot and locks, and releases both.
 * @returns the result, or the locks of others if they are fetching all of it
 */
async function fetchLocked(
  g: Gateway,
  { run, decision, plan }: Planned,
  names: readonly string[],
  deadline: CallDeadline,
): Promise<FetchResult | Pick<FetchLock<FetchResult>, 'others' | 'epoch'>> {
  const { question, context } = run;
  const { team, patience, trace, waitsForAll = false } = context;
  const slot = await g.platform.acquire(team, deadline, waitsForAll).catch(unlessShareIsSpent);
  trace.mark('acquire');
  let lock: FetchLock<FetchResult> | null = null;
  try {
    const epoch = g.purges.seq;
    const known = g.days.knownMonths(question.series, datesOf(plan));
    const taking = g.locks.tryTake(
      { series: question.series, keys: names, known, epoch },
      deadline,
      patience,
    );
    // Sent together with the lock request; the store reads after it grants the lock.
    const looking = readUsable(g, run, plan, { known, taking });
    // In the same trip. The slot puts the charge back if no call is needed.
    if (!(slot instanceof GatewayError)) void slot.charge().catch(() => {});
    lock = await taking;
    trace.mark('lock');
    const found = lock.mine.length === 0 ? NOTHING : await looking(patience, lock.claimed);
    const range = lock.mine.length === 0 ? null : remainingRange(g, decision.mode, plan, lock, found);
    if (range === null)
      return found.size > 0 || lock.others.length === 0 ? { ...LOOK_AGAIN, entries: found } : lock;
    // Without a share left, a team can only use the calls of others.
    if (slot instanceof GatewayError) throw slot;
    const held = lock;
    const { result, kept } = await fetchDays(g, slot, {
      ...question,
      mode: decision.mode,
      range,
      team,
      waitsForAll,
      known: decision.known,
      patience,
      order: lock.claimed?.order ?? g.days.nextOrder(),
      handOver: held.handOver,
      learns: true,
      onFurtherCall: () => held.prolong(g.config.platform.timeoutMs),
      onCall(call) {
        trace.called(call);
        trace.mark('fetch');
      },
    });
    trace.mark('keep');
    const whole: FetchResult = { ...result, entries: new Map([...found, ...result.entries]) };
    // Other replicas are notified once it is stored; the answer does not wait for that.
    g.background(held.succeed(whole, kept));
    return whole;
  } catch (error) {
    // Waiters of other teams may still make this call themselves.
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

const datesOf = ({ refs }: PlannedFetch) =>
  refs.flatMap(({ isDay, from }) => (isDay ? [from as string] : []));

/**
 * Reads the keys to be locked: whole entries from the store, days as the store returned them with the lock, and pending writes of
 * this process.
 * @returns usable entries. If the lock was late, the store is slow: then only writes that were pending when the lock was
 *   requested. Never rejects
 */
function readUsable(
  g: Gateway,
  run: Run,
  plan: PlannedFetch,
  { known, taking }: { readonly known: Claim['known']; readonly taking: Promise<unknown> },
): (patience: Patience, claimed: Claimed | null) => Promise<ReadonlyMap<string, Entry>> {
  const { question, context } = run;
  const { report, series } = question;
  const { refs: looked } = plan;
  const whole = looked.filter(({ isDay }) => !isDay);
  const isUsable = (found: ReadonlyMap<string, Entry>, ref: EntryRef) => {
    const entry = found.get(ref.id);
    return entry !== undefined && isFresh(g, run, entry, ref);
  };
  const beingWritten = g.lookUp.beingWritten(report, looked);
  const looking = g.lookUp.read(report, whole, context.patience, { after: taking });
  return async ({ isSpent }, claimed) => {
    const found = new Map(beingWritten);
    if (!isSpent && claimed !== null) {
      for (const [id, entry] of (await looking).found) found.set(id, entry);
      const changed = await g.days
        .readClaimed(series, datesOf(plan), known, claimed)
        .catch(whenAway(() => NO_DAYS));
      for (const [id, entry] of g.lookUp.usable(report, looked, changed)) found.set(id, entry);
      const atHand = g.lookUp.usable(report, looked, g.days.shownAtHand(series, datesOf(plan)));
      // Another request of this process has read them since this one did.
      if (looked.some((ref) => isUsable(atHand, ref)))
        for (const [id, entry] of (await g.lookUp.read(report, looked, context.patience)).found)
          found.set(id, entry);
    }
    return new Map(
      looked.flatMap((ref): [string, Entry][] =>
        isUsable(found, ref) ? [[ref.id, found.get(ref.id) as Entry]] : [],
      ),
    );
  };
}

const NO_DAYS: ReadonlyMap<string, Entry> = new Map();

/** The range that others did not fetch between the first read and the lock. @returns null if nothing is left */
function remainingRange(
  g: Gateway,
  mode: Decision['mode'],
  plan: PlannedFetch,
  lock: FetchLock<FetchResult>,
  found: ReadonlyMap<string, Entry>,
): PlannedFetch['range'] | null {
  const left = plan.refs.filter((ref) => lock.mine.includes(ref.lock) && !found.has(ref.id));
  const underWay = plan.refs.filter((ref) => lock.others.includes(ref.lock));
  const { range, refs } = leftToFetch(plan, left, underWay, mode, g.policy.plan);
  const done = lock.mine.filter((name) => !refs.some((ref) => ref.lock === name));
  // Not awaited while the slot is held.
  g.background(lock.drop(done));
  return range;
}

/** `Promise.allSettled` with at most `atOnce` concurrent calls; results in order. */
async function settleConcurrently<T, R>(
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
