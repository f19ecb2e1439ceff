import type { StoreLog } from '../log.js';
import type { LapsingRecords } from './lapsing.js';

const EVERY_MS = 5_000;
/** Small, so that nobody waits long for the lock that a sweep takes; as many as it needs. */
const AT_ONCE = 200;

export interface Sweep {
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>;
}

/** Removes what has ended, every few seconds. Who is to read is told that it has ended without it. */
export function startSweep(all: readonly LapsingRecords[], logger: StoreLog): Sweep {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  async function sweep(): Promise<void> {
    try {
      for (const records of all) {
        while (!stopped && (await records.sweep(AT_ONCE)) === AT_ONCE);
      }
    } catch (error) {
      logger.warn({ err: error }, 'records that have ended could not be removed');
    }
  }

  const timer = setInterval(() => {
    running = running.then(sweep);
  }, EVERY_MS);
  timer.unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
