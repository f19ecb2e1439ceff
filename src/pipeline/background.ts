/** Work that outlives its request, so that a stop can wait for it. */
import type { Logger } from 'pino';

export interface Background {
  /** Failures are logged, not thrown: nobody waits for this work. */
  readonly add: (work: Promise<unknown>) => void;
  /** Resolves when none is left. */
  settled(): Promise<void>;
}

export function createBackground(logger: Logger): Background {
  const running = new Set<Promise<void>>();
  return {
    add(work) {
      const tracked: Promise<void> = work
        .then(
          () => {},
          (error: unknown) => logger.warn({ err: error }, 'work behind an answer failed'),
        )
        .finally(() => running.delete(tracked));
      running.add(tracked);
    },
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
