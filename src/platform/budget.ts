/**
 * The platform's attention is scarce: so many calls at once, at the pace it allows, and slots are shared out
 * fairly by team (fair-lines.ts). So a team's single call waits for no more than the next call to end.
 */
import { startTimer, stopTimer, type Timer, uptimeMs } from '../lib/time.js';
import { createFairLines, type FairLines, type Line, type Waiter } from './fair-lines.js';

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
