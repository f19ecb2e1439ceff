/**
 * Slots for concurrent platform calls, at the platform's pace, fair by team: the single call of a team waits only for the
 * next call to end. The gateway's own calls, such as refreshes, wait for those of all teams.
 */
import { GatewayError } from '../errors.js';
import { startTimer, stopTimer, type Timer, uptimeMs } from '../lib/time.js';

/** Charged for calls that no team requested. */
export const GATEWAY_TEAM = 'gateway';

interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: unknown) => void;
}

/** A team that waits, or recently had more slots than others. */
interface Line {
  readonly team: string;
  readonly waiters: Set<Waiter>;
  /** Virtual time at which its next call starts. */
  tag: number;
  /** When it started to wait; breaks ties. */
  since: number;
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng 1996), where each call costs 1 and all teams weigh the same: a team that
 * has made few calls is served before one that has made many, however many wait there.
 */
class FairLines {
  /** Waiters of all teams. */
  queued = 0;
  readonly #lines = new Map<string, Line>();
  /** Virtual time: the tag of the call that started last. */
  #time = 0;
  #arrivals = 0;

  of(team: string): Line {
    const line = this.#lines.get(team) ?? { team, waiters: new Set(), tag: this.#time, since: 0 };
    this.#lines.set(team, line);
    return line;
  }

  /** A call of the team starts. Its next call is due later. */
  started(line: Line): void {
    this.#time = Math.max(this.#time, line.tag);
    line.tag = this.#time + 1;
    line.since = ++this.#arrivals;
  }

  add(line: Line, waiter: Waiter): void {
    if (line.waiters.size === 0) {
      line.tag = Math.max(line.tag, this.#time);
      line.since = ++this.#arrivals;
    }
    line.waiters.add(waiter);
    this.queued += 1;
  }

  /** No effect if it is not waiting. */
  remove(line: Line, waiter: Waiter): void {
    if (line.waiters.delete(waiter)) this.queued -= 1;
  }

  /** Removes the next waiter. There must be one. */
  takeNext(): { readonly line: Line; readonly waiter: Waiter } {
    const due = ({ team, tag }: Line) => (team === GATEWAY_TEAM ? Number.POSITIVE_INFINITY : tag);
    const isBefore = (one: Line, other: Line) =>
      due(one) < due(other) || (due(one) === due(other) && one.since < other.since);
    const line = this.#waiting().reduce((best, one) => (isBefore(one, best) ? one : best));
    const waiter = line.waiters.values().next().value as Waiter;
    this.remove(line, waiter);
    return { line, waiter };
  }

  /**
   * Refuses the last waiter of the longest line, which is the gateway's own if it waits.
   * @throws GatewayError `overloaded` if `line` is as long
   */
  makeRoom(line: Line): void {
    const length = ({ team, waiters }: Line) =>
      team === GATEWAY_TEAM ? Number.POSITIVE_INFINITY : waiters.size;
    const longest = this.#waiting().reduce((most, one) => (length(one) > length(most) ? one : most), line);
    if (length(longest) <= length(line) + 1) throw overloaded();
    const last = [...longest.waiters].at(-1) as Waiter;
    this.remove(longest, last);
    last.refuse(overloaded());
  }

  #waiting(): readonly Line[] {
    return [...this.#lines.values()].filter(({ waiters }) => waiters.size > 0);
  }

  /** Removes teams that had no more than their share. */
  forgetRested(except: Line): void {
    for (const line of this.#lines.values())
      if (line !== except && line.waiters.size === 0 && line.tag <= this.#time) this.#lines.delete(line.team);
  }
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', { retryAfterS: 1, noSlot: true });
}

export type Budget = ReturnType<typeof createBudget>;

export function createBudget({
  maxConcurrent,
  maxQueued,
  paceMs = () => 0,
}: {
  readonly maxConcurrent: () => number;
  /** Maximum waiting calls of all teams. */
  readonly maxQueued: number;
  /** Milliseconds until the next call may start; default 0. */
  readonly paceMs?: () => number;
}) {
  const lines = new FairLines();
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

  /** Starts all calls that may start, then waits for the pace. */
  function startNext(): void {
    while (lines.queued > 0 && running < maxConcurrent()) {
      const waitMs = paceMs();
      if (waitMs > 0) {
        wakeIn(waitMs);
        return;
      }
      const { line, waiter } = lines.takeNext();
      waiter.start();
      lines.forgetRested(line);
    }
  }

  function waitIn(line: Line, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        lines.remove(line, waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        start: () => {
          signal.removeEventListener('abort', abort);
          // Synchronously, before another call starts.
          resolve(enter(line));
        },
        refuse: (error) => {
          signal.removeEventListener('abort', abort);
          reject(error);
        },
      };
      lines.add(line, waiter);
      signal.addEventListener('abort', abort, { once: true });
    });
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
     * @param signal aborts the wait; rejects with its reason
     * @param waitsForAll a call of the team waits as the gateway's own do
     * @returns a function that frees the slot; idempotent
     * @throws GatewayError `overloaded` if too many wait; the gateway, or the team with the longest line, is refused first
     */
    async acquire(team: string, signal: AbortSignal, waitsForAll = false): Promise<() => void> {
      signal.throwIfAborted();
      const line = lines.of(waitsForAll ? GATEWAY_TEAM : team);
      if (lines.queued === 0 && running < maxConcurrent() && paceMs() <= 0) {
        lines.forgetRested(line);
        return enter(line);
      }
      if (lines.queued >= maxQueued) lines.makeRoom(line);
      const slot = waitIn(line, signal);
      startNext();
      return slot;
    },
  };
}

/** @returns a function that sets the alarm, unless an earlier one is set */
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
