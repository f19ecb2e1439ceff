/** Work behind answers: what outlives its request, its turns, and refreshes of stale answers. */
import type { Logger } from 'pino';
import { nextTurn } from '../../lib/time.js';

export type Background = ReturnType<typeof createBackground>;

/** Work that outlives its request, so that a stop can wait for it. */
export function createBackground(logger: Logger) {
  const running = new Set<Promise<void>>();
  return {
    /** Failures are logged, not thrown: no caller waits for this work. */
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

export type OneATurn = ReturnType<typeof createOneATurn>;

/** Work behind answers, one piece in each turn of the event loop: a new request is never behind more than one. */
export function createOneATurn() {
  const waiting: (() => void)[] = [];

  function turn(): void {
    waiting.shift()?.();
    if (waiting.length > 0) nextTurn(turn);
  }

  return {
    /** Resolves in a later turn, in order. */
    next(): Promise<void> {
      if (waiting.length === 0) nextTurn(turn);
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}

/** After a failure. */
const REST_MS = 5000;
/** More rests than this are looked through for those that are over. */
const MANY = 1000;

export type Refreshes = ReturnType<typeof createRefreshes>;

/**
 * Refreshes of what was given past its freshness. One per report at a time; one that failed is left alone for a moment, so
 * that a platform that fails is not asked by every hit.
 */
export function createRefreshes(now: () => number, logger: Logger, background: Background['add']) {
  const running = new Set<string>();
  const failedAt = new Map<string, number>();

  /** Counted both ways: a clock that stepped back must not make the rest longer. */
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
    /**
     * Starts `work` unless the report is being refreshed, or that failed a moment ago.
     * @param report names it among all others
     */
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
