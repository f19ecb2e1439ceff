/**
 * The platform's attention is scarce: so many calls at once, at the pace it allows, and slots are shared out
 * fairly by team. So a team's single call waits for no more than the next call to end.
 */
import { GatewayError } from '../errors.js';
import { startTimer, stopTimer, type Timer, uptimeMs } from '../lib/time.js';

// Who is served next, of those who wait: start-time fair queueing (Goyal, Vin, Cheng 1996), where each call costs 1 and all
// teams weigh the same. A team that has asked for little is served before one that has asked for much, whatever waits there.

interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: GatewayError) => void;
}

/** A team that waits, or that has lately had more slots than others. */
interface Line {
  readonly waiters: Set<Waiter>;
  /** Virtual time at which its next call starts. */
  tag: number;
  /** When it began to wait, for those whose tags are equal. */
  since: number;
}

type FairLines = ReturnType<typeof createFairLines>;

function createFairLines() {
  const lines = new Map<string, Line>();
  /** Virtual time: the tag of the call that started last. */
  let time = 0;
  let arrivals = 0;
  let queued = 0;

  /** Nothing happens when it does not wait any more. */
  function remove(line: Line, waiter: Waiter): void {
    if (line.waiters.delete(waiter)) queued -= 1;
  }

  return {
    /** Waiters, all teams together. */
    get queued(): number {
      return queued;
    },
    of(team: string): Line {
      const line = lines.get(team) ?? { waiters: new Set(), tag: time, since: 0 };
      lines.set(team, line);
      return line;
    },
    /** A call of the team starts: the next one of its line is due later. */
    started(line: Line): void {
      time = Math.max(time, line.tag);
      line.tag = time + 1;
      line.since = ++arrivals;
    },
    add(line: Line, waiter: Waiter): void {
      if (line.waiters.size === 0) {
        line.tag = Math.max(line.tag, time);
        line.since = ++arrivals;
      }
      line.waiters.add(waiter);
      queued += 1;
    },
    remove,
    /** Takes out who is next; to be called only while somebody waits. */
    takeNext(): { readonly team: string; readonly waiter: Waiter } {
      const [team, line] = nextOf(lines);
      const waiter = line.waiters.values().next().value as Waiter;
      remove(line, waiter);
      return { team, waiter };
    },
    /** Whoever fills the queue makes room for those who do not. @throws GatewayError when that is `line` itself */
    makeRoom(line: Line): void {
      const { longest, last } = lastToCome(lines, line);
      remove(longest, last);
      last.refuse(overloaded());
    },
    /** A team that has had no more than its part is as good as new. */
    forgetRested(except: string): void {
      for (const [team, { waiters, tag }] of lines)
        if (team !== except && waiters.size === 0 && tag <= time) lines.delete(team);
    },
  };
}

function nextOf(lines: ReadonlyMap<string, Line>): [string, Line] {
  const waiting = [...lines].filter(([, { waiters }]) => waiters.size > 0);
  return waiting.reduce((best, one) => (isBefore(one[1], best[1]) ? one : best));
}

function isBefore(one: Line, other: Line): boolean {
  return one.tag < other.tag || (one.tag === other.tag && one.since < other.since);
}

/** @returns the waiter who came last in the longest line. @throws GatewayError when `line` is as long */
function lastToCome(lines: ReadonlyMap<string, Line>, line: Line): { longest: Line; last: Waiter } {
  const longest = [...lines.values()].reduce((most, one) =>
    one.waiters.size > most.waiters.size ? one : most,
  );
  if (longest.waiters.size <= line.waiters.size + 1) throw overloaded();
  return { longest, last: [...longest.waiters].at(-1) as Waiter };
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', { retryAfterS: 1 });
}

export type Budget = ReturnType<typeof createBudget>;

export function createBudget({
  maxConcurrent,
  maxQueued,
  paceMs = () => 0,
}: {
  /** Calls at once, as of now. */
  readonly maxConcurrent: () => number;
  /** Calls that may wait, all teams together. */
  readonly maxQueued: number;
  /** Milliseconds until the next call may start. At once when not given. */
  readonly paceMs?: () => number;
}) {
  const lines = createFairLines();
  const wakeIn = createAlarm(() => startNext());
  let running = 0;

  function enter(line: Line): () => void {
    running += 1;
    lines.started(line);
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
    while (lines.queued > 0 && running < maxConcurrent()) {
      const waitMs = paceMs();
      if (waitMs > 0) {
        wakeIn(waitMs);
        return;
      }
      const { team, waiter } = lines.takeNext();
      waiter.start();
      lines.forgetRested(team);
    }
  }

  return {
    get running(): number {
      return running;
    },
    get queued(): number {
      return lines.queued;
    },
    /**
     * Waits for a slot.
     * @param team who the call is charged to
     * @param signal aborts the waiting; rejects with its reason
     * @returns a function to be called exactly once, when the call is over
     * @throws GatewayError `overloaded` when too many wait already; those of the team that has most waiting go first
     */
    async acquire(team: string, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      const line = lines.of(team);
      if (lines.queued === 0 && running < maxConcurrent() && paceMs() <= 0) {
        lines.forgetRested(team);
        return enter(line);
      }
      if (lines.queued >= maxQueued) lines.makeRoom(line);
      const slot = waitIn(lines, line, signal, () => enter(line));
      startNext();
      return slot;
    },
  };
}

/** @param enter called at once when it is served, before another starts */
function waitIn<T>(
  lines: Pick<FairLines, 'add' | 'remove'>,
  line: Line,
  signal: AbortSignal,
  enter: () => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (error: unknown) => {
      signal.removeEventListener('abort', giveUp);
      reject(error);
    };
    const giveUp = () => {
      lines.remove(line, waiter);
      stop(signal.reason);
    };
    const waiter: Waiter = {
      start: () => {
        signal.removeEventListener('abort', giveUp);
        resolve(enter());
      },
      refuse: stop,
    };
    lines.add(line, waiter);
    signal.addEventListener('abort', giveUp, { once: true });
  });
}

/** @returns sets the alarm, unless it is set for an earlier time: what the platform showed since may have changed it */
function createAlarm(ring: () => void): (inMs: number) => void {
  let alarm: { readonly timer: Timer; readonly atMs: number } | null = null;
  return (inMs) => {
    const atMs = uptimeMs() + inMs;
    if (alarm !== null && alarm.atMs <= atMs) return;
    if (alarm !== null) stopTimer(alarm.timer);
    const timer = startTimer(() => {
      alarm = null;
      ring();
    }, inMs).unref();
    alarm = { timer, atMs };
  };
}
