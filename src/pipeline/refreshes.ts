/**
 * Stage behind the answer: refreshes of what was given past its freshness. One per report at a time, whoever asks; one
 * that failed is left alone for a moment, so that a platform that fails is not asked by every hit.
 */
import type { Logger } from 'pino';

/** After a failure. */
const REST_MS = 5000;
/** More rests than this are looked through for those that are over. */
const MANY = 1000;

export interface Refreshes {
  /**
   * Starts `work` unless the report is being refreshed, or that failed a moment ago.
   * @param report names it among all others
   */
  start(report: string, endpoint: string, work: () => Promise<void>): void;
}

export interface RefreshesOptions {
  readonly now: () => number;
  readonly logger: Logger;
  readonly background: (work: Promise<unknown>) => void;
}

export function createRefreshes({ now, logger, background }: RefreshesOptions): Refreshes {
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
    start(report, endpoint, work) {
      if (running.has(report) || isResting(report)) return;
      running.add(report);
      failedAt.delete(report);
      background(
        work()
          .catch((error: unknown) => {
            noteFailure(report);
            logger.warn({ err: error, endpoint }, 'a refresh behind a stale answer failed');
          })
          .finally(() => running.delete(report)),
      );
    },
  };
}
