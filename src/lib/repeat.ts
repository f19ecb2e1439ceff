/** Periodic background work. */
import { sleep, startTicks, stopTicks } from './time.js';

export interface Repeated {
  /** Starts it now, unless it is running. */
  now(): void;
  /** Resolves when nothing is running. */
  stop(): Promise<void>;
}

/**
 * Repeats work at an interval, never concurrently. Does not keep the process alive.
 * @param work must not reject; ends early if `isStopped`
 */
export function repeat(everyMs: number, work: (isStopped: () => boolean) => Promise<void>): Repeated {
  let running: Promise<void> | undefined;
  let stopped = false;
  const run = oneAtATime(() => work(() => stopped));
  const now = () => {
    if (!stopped) running = run();
  };
  const timer = startTicks(now, everyMs).unref();
  return {
    now,
    async stop() {
      stopped = true;
      stopTicks(timer);
      await running;
    },
  };
}

/** Calls during a run share its result. */
export function oneAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

const FLUSH_WAIT_MS = 500;

/** Flushes at shutdown. @returns whether nothing is left */
export async function flushAtEnd(flush: () => Promise<boolean>, tries: number): Promise<boolean> {
  // A running flush may have started before the last count.
  await flush();
  for (let left = tries; !(await flush()); left -= 1) {
    if (left === 1) return false;
    await sleep(FLUSH_WAIT_MS);
  }
  return true;
}
