/** Background work, its turns in the event loop, and refreshes of stale answers. */
import type { Logger } from 'pino';
import { nextTurn } from '../../lib/time.js';

/** Tracks work that outlives its request, so that a stop can wait for it. */
export function createBackground(logger: Logger) {
  const running = new Set<Promise<void>>();
  return {
    /** Failures are logged. */
    add(work: Promise<unknown>): void {
      const tracked: Promise<void> = work
        .then(
          () => {},
          (error: unknown) => logger.warn({ err: error }, 'background work failed'),
        )
        .finally(() => running.delete(tracked));
      running.add(tracked);
    },
    /** Resolves when none is left. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** The share of the waiting work that runs in a turn, as waiting work keeps its answers in memory. */
const TURN_PART = 1 / 16;

/**
 * Turns of the event loop. What follows an answer runs in a turn of its own, for the sake of new requests; more at once if many
 * wait. Long work waits for it, and is alone in its turn: else a burst of answers of the platform would be parsed before
 * anything of the first one is written.
 */
export function createTurnQueue() {
  const waiting: (() => void)[] = [];
  const long: (() => void)[] = [];
  let isUnderWay = false;

  function begin(): void {
    if (isUnderWay) return;
    isUnderWay = true;
    nextTurn(turn);
  }

  function turn(): void {
    isUnderWay = false;
    const due = waiting.splice(0, Math.ceil(waiting.length * TURN_PART));
    const starts = due.length > 0 ? due : long.splice(0, 1);
    for (const start of starts) start();
    // The next long work waits for this one, too.
    if (starts.length > 0) begin();
  }

  return {
    /** For what follows an answer. Resolves in a later turn, in order. */
    next(): Promise<void> {
      begin();
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
    /** For work of milliseconds. Resolves at once if nothing has had this turn, or waits for one; else in order. */
    async long(): Promise<void> {
      if (isUnderWay) await new Promise<void>((resolve) => void long.push(resolve));
      else begin();
    },
  };
}

/** Pause after a failed refresh. */
const REST_MS = 5000;
/** Limit of remembered failures; expired ones are removed first. */
const MANY = 1000;

/**
 * Refreshes of stale answers: one per report at a time, with a pause after a failure, so that not every hit calls a failing
 * platform.
 */
export function createRefreshes(
  now: () => number,
  logger: Logger,
  background: ReturnType<typeof createBackground>['add'],
) {
  const running = new Set<string>();
  const failedAt = new Map<string, number>();

  /** Absolute difference: a clock set back must not prolong the pause. */
  function isResting(report: string): boolean {
    const at = failedAt.get(report);
    return at !== undefined && Math.abs(now() - at) < REST_MS;
  }

  function noteFailure(report: string): void {
    if (failedAt.size >= MANY)
      for (const name of failedAt.keys()) if (!isResting(name)) failedAt.delete(name);
    if (failedAt.size < MANY) failedAt.set(report, now());
  }

  return {
    /** Starts `work` unless a refresh of the report is running or just failed. @param report its key */
    start(report: string, endpoint: string, work: () => Promise<void>): void {
      if (running.has(report) || isResting(report)) return;
      running.add(report);
      failedAt.delete(report);
      background(
        work()
          .catch((error: unknown) => {
            noteFailure(report);
            logger.warn({ err: error, endpoint }, 'background refresh of a stale answer failed');
          })
          .finally(() => running.delete(report)),
      );
    },
  };
}
