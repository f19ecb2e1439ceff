/**
 * The platform's attention is scarce: so many calls at once, at the pace it allows, and those who wait take fair turns
 * by team.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng 1996), where each call costs 1 / weight: a team that has asked for
 * little is served before one that has asked for much, whatever waits there. So a team's single call waits for no more
 * than the next call to end.
 */
import { GatewayError } from '../errors.js';

export interface Budget {
  /**
   * Waits for a turn.
   * @param team who the call is charged to
   * @param signal aborts the waiting; rejects with its reason
   * @returns a function to be called exactly once, when the call is over
   * @throws GatewayError `overloaded` when too many wait already; those of the team that has most waiting go first
   */
  acquire(team: string, signal: AbortSignal): Promise<() => void>;
  readonly running: number;
  readonly queued: number;
}

export interface BudgetOptions {
  /** Calls at once, as of now. */
  readonly maxConcurrent: () => number;
  /** Calls that may wait, all teams together. */
  readonly maxQueued: number;
  /** A team of weight 2 gets two turns where one of weight 1 gets one. 1 for all when not given. */
  readonly weightOf?: (team: string) => number;
  /** Milliseconds until the next call may start. At once when not given. */
  readonly paceMs?: () => number;
}

interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: GatewayError) => void;
}

/** A team that waits, or that has lately had more turns than others. */
interface Line {
  readonly waiters: Set<Waiter>;
  /** Virtual time at which its next call starts. */
  tag: number;
  /** When it began to wait, for those whose tags are equal. */
  since: number;
}

export function createBudget(options: BudgetOptions): Budget {
  const { maxConcurrent, maxQueued, weightOf = () => 1, paceMs = () => 0 } = options;
  const lines = new Map<string, Line>();
  /** Virtual time: the tag of the call that started last. */
  let time = 0;
  let arrivals = 0;
  let [running, queued] = [0, 0];
  let alarm: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;

  function lineOf(team: string): Line {
    const line = lines.get(team) ?? { waiters: new Set(), tag: time, since: 0 };
    lines.set(team, line);
    return line;
  }

  function enter(team: string, line: Line): () => void {
    running += 1;
    time = Math.max(time, line.tag);
    line.tag = time + 1 / weightOf(team);
    line.since = ++arrivals;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      running -= 1;
      startNext();
    };
  }

  /** Starts as many as may start, then waits for the pace where there is one. */
  function startNext(): void {
    while (queued > 0 && running < maxConcurrent()) {
      const waitMs = paceMs();
      if (waitMs > 0) {
        wakeIn(waitMs);
        return;
      }
      const [team, line] = first();
      const waiter = line.waiters.values().next().value as Waiter;
      remove(line, waiter);
      waiter.start();
      forgetRested(team);
    }
  }

  /** What the platform showed since may have brought the next start nearer. */
  function wakeIn(ms: number): void {
    const atMs = performance.now() + ms;
    if (alarm !== null && alarm.atMs <= atMs) return;
    if (alarm !== null) clearTimeout(alarm.timer);
    const timer = setTimeout(() => {
      alarm = null;
      startNext();
    }, ms).unref();
    alarm = { timer, atMs };
  }

  function first(): [string, Line] {
    const waiting = [...lines].filter(([, { waiters }]) => waiters.size > 0);
    return waiting.reduce((best, one) => (isBefore(one[1], best[1]) ? one : best));
  }

  function remove(line: Line, waiter: Waiter): void {
    if (line.waiters.delete(waiter)) queued -= 1;
  }

  /** A team that has had no more than its part is as good as new. */
  function forgetRested(except: string): void {
    for (const [team, { waiters, tag }] of lines)
      if (team !== except && waiters.size === 0 && tag <= time) lines.delete(team);
  }

  /** Whoever fills the queue makes room for those who do not. @throws GatewayError when that is `line` itself */
  function makeRoom(line: Line): void {
    const longest = [...lines.values()].reduce((most, one) =>
      one.waiters.size > most.waiters.size ? one : most,
    );
    const overloaded = new GatewayError('overloaded', { retryAfterS: 1 });
    if (longest.waiters.size <= line.waiters.size + 1) throw overloaded;
    const last = [...longest.waiters].at(-1) as Waiter;
    remove(longest, last);
    last.refuse(overloaded);
  }

  function wait(team: string, line: Line, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const stop = (error: unknown) => {
        signal.removeEventListener('abort', giveUp);
        reject(error);
      };
      const giveUp = () => {
        remove(line, waiter);
        stop(signal.reason);
      };
      const waiter: Waiter = {
        start: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(enter(team, line));
        },
        refuse: stop,
      };
      if (line.waiters.size === 0) {
        line.tag = Math.max(line.tag, time);
        line.since = ++arrivals;
      }
      line.waiters.add(waiter);
      queued += 1;
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return {
    get running() {
      return running;
    },
    get queued() {
      return queued;
    },
    async acquire(team, signal) {
      signal.throwIfAborted();
      const line = lineOf(team);
      if (queued === 0 && running < maxConcurrent() && paceMs() <= 0) {
        forgetRested(team);
        return enter(team, line);
      }
      if (queued >= maxQueued) makeRoom(line);
      const turn = wait(team, line, signal);
      startNext();
      return turn;
    },
  };
}

function isBefore(one: Line, other: Line): boolean {
  return one.tag < other.tag || (one.tag === other.tag && one.since < other.since);
}
