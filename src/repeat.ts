/** Work that nobody asks for, done now and then. */
import { startTicks, stopTicks } from './time.js';

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
  let running: Promise<void> | null = null;
  let stopped = false;
  const now = () => {
    if (stopped) return;
    running ??= work(() => stopped).finally(() => {
      running = null;
    });
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
