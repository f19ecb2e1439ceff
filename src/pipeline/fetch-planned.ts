/**
 * One planned fetch, by the rules of slots and locks:
 *
 *   under way here? wait, holding nothing → acquire a slot → take locks, waiting for no holder → look again, and drop
 *   what others brought or have → send → keep → let go
 *
 * Nobody waits while holding a slot or a lock, except for its own call. The lock ends with the write to the store, which
 * the answer does not wait for. A try that failed lets go of both, and whoever waited for it counts it as a try of his own:
 * so all back off together, and one of them goes on.
 */
import type { Purges } from '../cache/purges.js';
import { GatewayError } from '../errors.js';
import type { PlatformClient } from '../platform/client.js';
import type { CallDeadline } from '../platform/deadline.js';
import type { CallFailed } from '../platform/failure.js';
import type { Slot } from '../platform/slot.js';
import type { Entry } from '../report/entry.js';
import type { Range } from '../report/period.js';
import type { ReportPolicy } from '../report-policy.js';
import { addCall } from '../telemetry/trace.js';
import { callKind, type FetchDays, isShareSpent } from './fetch-days.js';
import type { FetchLocks } from './fetch-locks.js';
import { type FetchResult, LOOK_AGAIN } from './fetch-result.js';
import type { FetchLock } from './held-lock.js';
import type { LookUp } from './look-up.js';
import { leftToFetch, type PlannedFetch } from './plan-fetches.js';
import { type EntryRef, type ReportQuestion, type RequestContext, wholeRef } from './question.js';
import type { SharedTries } from './shared-tries.js';

/** What stays the same for all fetches of one request. */
export interface FetchContext {
  readonly question: ReportQuestion;
  readonly context: RequestContext;
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  /** Ends its waiting for what others have under way. */
  readonly signal: AbortSignal;
  /** What was known of entries before, by key. */
  readonly known: ReadonlyMap<string, Entry>;
  /** Whether an entry that somebody else brought will do. */
  readonly satisfies: (part: Entry, ref: EntryRef) => boolean;
}

/** What it leaves undone is seen by who looks again. @throws GatewayError why there is nothing */
export type FetchPlanned = (ctx: FetchContext, planned: PlannedFetch) => Promise<FetchResult>;

export interface FetchPlannedOptions {
  readonly platform: Pick<PlatformClient, 'acquire' | 'retrying'>;
  readonly locks: FetchLocks<FetchResult>;
  readonly tries: SharedTries<FetchResult>;
  readonly lookUp: LookUp;
  readonly purges: Pick<Purges, 'seq'>;
  readonly fetchDays: FetchDays;
  readonly policy: ReportPolicy;
  /** Longest time one call takes, waiting included. */
  readonly callMs: number;
  /** Keeps work that outlives its request, so that a graceful stop can wait for it. */
  readonly background: (work: Promise<unknown>) => void;
}

const NOTHING: ReadonlyMap<string, Entry> = new Map();

export function createFetchPlanned(options: FetchPlannedOptions): FetchPlanned {
  return (ctx, planned) =>
    options.platform.retrying(callKind(ctx.question), options.callMs, (deadline, after) =>
      tryTogether(options, ctx, planned, deadline, after),
    );
}

/** One of those who want the same, for one team or after the same failure, makes the try. */
async function tryTogether(
  options: FetchPlannedOptions,
  ctx: FetchContext,
  planned: PlannedFetch,
  deadline: CallDeadline,
  after: CallFailed | null,
): Promise<FetchResult> {
  const { context, mode } = ctx;
  const epoch = options.purges.seq;
  const names = planned.lockAs === null ? planned.refs.map(({ lock }) => lock) : [planned.lockAs];
  const { value, isOwn } = await options.tries.share({
    name: [context.team, mode, epoch, JSON.stringify(planned.range), ...names].join(' '),
    after,
    signal: deadline.signal,
    attempt: () => attempt(options, { others: names, epoch }, ctx, planned, deadline),
  });
  if (!isOwn) context.trace.mark('wait');
  return isOwn ? value : { ...value, by: 'other' };
}

async function attempt(
  options: FetchPlannedOptions,
  wanted: Pick<FetchLock<FetchResult>, 'others' | 'epoch'>,
  ctx: FetchContext,
  planned: PlannedFetch,
  deadline: CallDeadline,
): Promise<FetchResult> {
  // Whoever only waits needs no slot of the platform's, and must not wait for one.
  if (options.locks.areUnderWay(wanted.others, wanted.epoch)) return follow(options, wanted, ctx);
  const held = await fetchHolding(options, wanted.others, ctx, planned, deadline);
  if ('unlocked' in held) return settleForOthers(options, held.brought, held.unlocked, ctx);
  return held;
}

/** With slot and lock in hand, both of which end here. */
async function fetchHolding(
  options: FetchPlannedOptions,
  names: readonly string[],
  ctx: FetchContext,
  planned: PlannedFetch,
  deadline: CallDeadline,
): Promise<FetchResult | NothingLeft> {
  const { context } = ctx;
  const slot = await options.platform.acquire(context.team, deadline).catch(unlessShareIsSpent);
  context.trace.mark('acquire');
  let lock: FetchLock<FetchResult> | null = null;
  try {
    const taking = options.locks.tryTake(names, options.purges.seq, deadline, context.patience);
    // Sent with it, and read as of when it is granted.
    const looking = lookBehind(options, ctx, planned, taking);
    lock = await taking;
    context.trace.mark('lock');
    if (lock.mine.length === 0) return { unlocked: lock, brought: NOTHING };
    // Who was kept waiting for the lock does not wait for this as well.
    const found = context.patience.isSpent ? NOTHING : await looking;
    const { range, brought } = leftOf(options, ctx, planned, lock, found);
    if (range === null) return { unlocked: lock, brought };
    // Whoever has no share left can use what others have under way, and no more.
    if (slot instanceof GatewayError) throw slot;
    return await fetchLocked(options, { slot, lock, range, brought }, ctx);
  } catch (error) {
    // What one team has used up is nothing to others who wait for its call: they may make it themselves.
    if (!isShareSpent(error)) await lock?.fail(error);
    throw error;
  } finally {
    if (!(slot instanceof GatewayError)) slot.release();
    await lock?.drop(lock.mine);
  }
}

/** What there is of all that is to be locked, and will do. Never rejects. */
async function lookBehind(
  { lookUp }: FetchPlannedOptions,
  { question, context, satisfies }: FetchContext,
  { refs, lockAs }: PlannedFetch,
  taking: Promise<unknown>,
): Promise<ReadonlyMap<string, Entry>> {
  const looked = lockAs === null ? refs : [...refs, wholeRef(question)];
  const { found } = await lookUp.read(question.report, looked, context.patience, { after: taking });
  const ofUse = (ref: EntryRef) => found.has(ref.id) && satisfies(found.get(ref.id) as Entry, ref);
  return new Map(looked.filter(ofUse).map(({ id }) => [id, found.get(id) as Entry]));
}

/** Between the first look and the lock somebody may have brought some of it. */
function leftOf(
  options: FetchPlannedOptions,
  { mode }: FetchContext,
  planned: PlannedFetch,
  lock: FetchLock<FetchResult>,
  brought: ReadonlyMap<string, Entry>,
): Left {
  if (planned.lockAs !== null) {
    const isDone = planned.refs.every(({ id }) => brought.has(id)) || hasRefusal(brought);
    return { range: isDone ? null : planned.range, brought };
  }
  const { range, refs } = leftToFetch({
    planned,
    left: planned.refs.filter((ref) => lock.mine.includes(ref.lock) && !brought.has(ref.id)),
    underWay: planned.refs.filter((ref) => lock.others.includes(ref.lock)),
    mode,
    plan: options.policy.plan,
  });
  const done = lock.mine.filter((name) => !refs.some((ref) => ref.lock === name));
  // Not waited for: the slot is in hand.
  options.background(lock.drop(done));
  return { range, brought };
}

/** Sends, keeps, and ends the lock with what was brought. */
async function fetchLocked(
  options: FetchPlannedOptions,
  { slot, lock, range, brought }: Holding,
  { question, context, known, mode }: FetchContext,
): Promise<FetchResult> {
  const { report, series, form } = question;
  const { team, patience, trace } = context;
  const { result, kept } = await options.fetchDays(slot, {
    ...{ report, series, form, mode, range, team, known, patience },
    learns: true,
    onFurtherCall: () => lock.prolong(options.callMs),
    onCall: (call) => {
      addCall(trace, call);
      trace.mark('fetch');
    },
  });
  trace.mark('keep');
  const whole: FetchResult = { ...result, entries: new Map([...brought, ...result.entries]) };
  // Others who want it are told when it is in the store; the answer does not wait for that.
  options.background(lock.succeed(whole, kept));
  return whole;
}

/** Nothing was left to ask for: take what others brought, or wait for what they have under way. */
async function settleForOthers(
  options: FetchPlannedOptions,
  brought: Left['brought'],
  unlocked: NothingLeft['unlocked'],
  ctx: FetchContext,
): Promise<FetchResult> {
  if (brought.size > 0 || unlocked.others.length === 0) return { ...LOOK_AGAIN, entries: brought };
  return follow(options, unlocked, ctx);
}

async function follow(
  options: FetchPlannedOptions,
  wanted: Pick<FetchLock<FetchResult>, 'others' | 'epoch'>,
  { signal, context }: FetchContext,
): Promise<FetchResult> {
  const result = await options.locks.wait(wanted, signal);
  context.trace.mark('wait');
  return { ...(result ?? LOOK_AGAIN), by: 'other' };
}

/** What a call is made with. */
interface Holding extends Pick<Left, 'brought'> {
  readonly slot: Slot;
  readonly lock: FetchLock<FetchResult>;
  readonly range: Range;
}

/** Others have brought it, or have it under way under locks that this one was not granted. */
interface NothingLeft extends Pick<Left, 'brought'> {
  readonly unlocked: Pick<FetchLock<FetchResult>, 'others' | 'epoch'>;
}

/** What is left to be asked for, and what others had brought. */
interface Left {
  /** Null: nothing. */
  readonly range: Range | null;
  readonly brought: ReadonlyMap<string, Entry>;
}

function hasRefusal(brought: ReadonlyMap<string, Entry>): boolean {
  return [...brought.values()].some(({ header }) => header.form === 'refusal');
}

function unlessShareIsSpent(error: unknown): GatewayError {
  if (isShareSpent(error)) return error;
  throw error;
}
