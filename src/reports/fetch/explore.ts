/**
 * Exploration: fetches the last 90 days of each endpoint, split and advertiser in use once a month, so that finality is not
 * learned from young days only. Runs in the background when the platform is idle; results are processed like any answer.
 */
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { within } from '../../platform/deadline.js';
import type { CallFailed } from '../../platform/failure.js';
import type { Documents } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import { scopeId, scopeOf } from '../learn/scope.js';
import { dayAt, daysBetween, isoDay } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import { dayRef } from '../question.js';
import { fetchToLearn, isShareSpent } from './call-platform.js';

// Shared attempts: one of a team's equal requests queues for a slot, and after a failure one retries for all. The others wait.

interface AttemptInput<T> {
  /** Identity of the request and the team that is charged. */
  readonly name: string;
  /** Failure of the previous attempt; null for the first. */
  readonly after: CallFailed | null;
  /** Ends the wait for another caller. */
  readonly signal: AbortSignal;
  readonly attempt: () => Promise<T>;
}

export type SharedAttempts<T> = ReturnType<typeof createSharedAttempts<T>>;

/** @param maxWaiting callers that may wait at once in this process */
export function createSharedAttempts<T>(maxWaiting: number) {
  const underWay = new Map<string, Promise<T>>();
  /** The attempt after a failure, also a settled one: callers that still back off share it. */
  const following = new WeakMap<CallFailed, Promise<T>>();
  let waiting = 0;

  async function make({ name, after, attempt }: AttemptInput<T>): Promise<T> {
    const made = attempt();
    underWay.set(name, made);
    if (after !== null) following.set(after, made);
    try {
      return await made;
    } finally {
      if (underWay.get(name) === made) underWay.delete(name);
    }
  }

  async function wait(others: Promise<T>, signal: AbortSignal): Promise<T> {
    if (waiting >= maxWaiting) throw new GatewayError('overloaded', { retryAfterS: 1 });
    waiting += 1;
    try {
      return await within(signal, () => others);
    } finally {
      waiting -= 1;
    }
  }

  return {
    /** @throws the signal's reason; the failure of the shared attempt; GatewayError `overloaded` if too many wait */
    async share(input: AttemptInput<T>): Promise<{ readonly value: T; readonly isOwn: boolean }> {
      const { name, after, signal } = input;
      for (;;) {
        const others = (after === null ? undefined : following.get(after)) ?? underWay.get(name);
        if (others === undefined) return { value: await make(input), isOwn: true };
        try {
          return { value: await wait(others, signal), isOwn: false };
        } catch (error) {
          signal.throwIfAborted();
          // A spent share or an early timeout concerns one caller; the others retry.
          const isEarly = error instanceof GatewayError && error.code === 'upstream_timeout';
          if (!isEarly && !isShareSpent(error)) throw error;
          if (after !== null && following.get(after) === others) following.delete(after);
        }
      }
    },
    /** Callers waiting for another one. */
    get waiting(): number {
      return waiting;
    },
  };
}

const DAYS = 90;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_SERIES = 10_000;

export function createExplorer(documents: Documents) {
  const scopes = createExploredScopes(documents);
  /** Next check by series. */
  const notBefore = new Map<string, number>();
  /** Times of exploration calls of this process in the last day. */
  let made: readonly number[] = [];
  let isRunning = false;
  let isStopped = false;

  /** Whether one more call stays within `exploreShare` of the calls that callers caused. */
  function mayCall({ now, isIdle, config, recentCalls }: Gateway): boolean {
    made = made.filter((at) => Math.abs(now() - at) < DAY_MS);
    return isIdle() && made.length + 1 <= config.finality.exploreShare * recentCalls.count();
  }

  async function explore(g: Gateway, what: ReportSeries): Promise<void> {
    const today = dayAt(g.now(), g.policy.timezoneOf(what.report.account));
    const days = Math.min(DAYS, g.policy.plan.maxDaysPerCall);
    const [from, to] = [isoDay(today - days), isoDay(today - 1)];
    const refs = daysBetween(from, to).map((date) => dayRef(what.series, date));
    const known = daysFound(refs, (await g.lookUp.read(what.report, refs)).found);
    const fetch = (first: string, last: string) => {
      made = [...made, g.now()];
      return fetchToLearn(g, { ...what, known }, first, last);
    };
    g.count('explorations', {});
    const fresh = await fetch(from, to);
    if (fresh !== null) await g.learner.compare({ ...what, known, fresh: [...fresh.values()] }, fetch);
  }

  async function look(g: Gateway, what: ReportSeries): Promise<void> {
    const { now, learner, logger } = g;
    const id = scopeId(scopeOf(what.report));
    const since = await scopes.sinceOf(id, now());
    if (since === null) return;
    const dueAt = since + MONTH_MS;
    if (now() < dueAt) {
      notBefore.set(what.series, Math.min(dueAt, now() + DAY_MS));
      return;
    }
    // Kinds that are not proven are not stored by day.
    if (isRunning || isStopped || learner.status(what.report).state !== 'proven' || !mayCall(g)) return;
    isRunning = true;
    try {
      // The claim decides which replica makes the call.
      if (!(await scopes.claim(id, now())) || isStopped) return;
      await explore(g, what);
    } catch (error) {
      logger.debug({ err: error }, 'exploration fetch failed; retrying in a day');
      await scopes.retry(id, now() - MONTH_MS + DAY_MS);
    } finally {
      isRunning = false;
    }
  }

  return {
    /** Notes that a report is in use. Usually costs one map lookup. */
    used(g: Gateway, what: ReportSeries): void {
      const { mode, exploreShare } = g.config.finality;
      if (mode !== 'learned' || exploreShare <= 0 || isStopped) return;
      if (g.now() < (notBefore.get(what.series) ?? 0)) return;
      if (notBefore.size >= MAX_SERIES) notBefore.clear();
      notBefore.set(what.series, g.now() + HOUR_MS);
      // Nothing is learned from reports without history.
      if (what.report.split.includes('date') && g.history.isRecorded(what.report))
        g.background(look(g, what));
    },
    /** Starts no further exploration. */
    stop(): void {
      isStopped = true;
    },
  };
}

const KEY = 'explored';
const MONTH_MS = 30 * DAY_MS;
/** Limit of scopes, and lifetime of unused ones. */
const MAX_SCOPES = 2000;
const KEPT_MS = 180 * DAY_MS;

const ScopesForm = recordForm(
  Type.Object({ form: Type.Literal(1), since: Type.Record(Type.String(), Type.Integer()) }),
);
type Scopes = RecordOf<typeof ScopesForm>;

/** First use or last exploration of each scope, in one document shared by all replicas. */
function createExploredScopes(documents: Documents) {
  const change = (step: (since: Scopes['since']) => Scopes['since']) =>
    mergeDocument<Scopes>(documents, {
      ...{ key: KEY, ttlMs: KEPT_MS, decode: ScopesForm.parse, encode: JSON.stringify },
      add(before) {
        const known = before ?? { form: 1, since: {} };
        const since = step(known.since);
        return since === known.since ? known : { ...known, since };
      },
    });
  return {
    /** Adds a new scope. @returns null if the limit is reached. @throws StoreUnavailable */
    async sinceOf(id: string, nowMs: number): Promise<number | null> {
      const all = await change((since) => (Object.hasOwn(since, id) ? since : withScope(since, id, nowMs)));
      return all?.since[id] ?? null;
    },
    /** @returns whether this caller is to explore it now. @throws StoreUnavailable */
    async claim(id: string, nowMs: number): Promise<boolean> {
      let isMine = false;
      await change((since) => {
        const known = since[id] ?? nowMs;
        isMine = nowMs - known >= MONTH_MS;
        return isMine ? { ...since, [id]: nowMs } : since;
      });
      return isMine;
    },
    /** After a failure. @param at pretended time of the exploration. @throws StoreUnavailable */
    async retry(id: string, at: number): Promise<void> {
      await change((since) => (Object.hasOwn(since, id) ? { ...since, [id]: at } : since));
    },
  };
}

function withScope(since: Scopes['since'], id: string, nowMs: number): Scopes['since'] {
  const kept = Object.entries(since).filter(([, at]) => nowMs - at < KEPT_MS);
  return kept.length >= MAX_SCOPES ? since : { ...Object.fromEntries(kept), [id]: nowMs };
}
