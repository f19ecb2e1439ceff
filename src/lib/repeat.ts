/** Work that nobody asks for, done now and then. */
import { sleep, startTicks, stopTicks } from './time.js';

export interface Repeated {
  /** Begins it now, unless it is under way. */
  now(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/**
 * Does work every so often, never twice at once. It keeps no process alive.
 * @param work never rejects; ends early once `isStopped` says so
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

/** @returns the work, never twice at once: a call during a run gets the result of that run */
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

/** Flushes at the end of a process, in at most so many tries. @returns whether nothing is left */
export async function flushAtEnd(flush: () => Promise<boolean>, tries: number): Promise<boolean> {
  // A flush that is under way may have begun before the last count.
  await flush();
  for (let left = tries; !(await flush()); left -= 1) {
    if (left === 1) return false;
    await sleep(FLUSH_WAIT_MS);
  }
  return true;
}
