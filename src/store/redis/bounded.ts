import { nextTurn, startTimer, stopTimer } from '../../time.js';

/** The work was not done in time. It may still be done later. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Settles as `work` does, or rejects with {@link TimedOut} after `limitMs`.
 *
 * When the time is up, the event loop gets one more turn to read what has already arrived: a process that was busy
 * for longer than the limit must not take its own slowness for the server's.
 *
 * @param onLate called when `work` settles after its time, with its error if it failed.
 */
export function bounded<T>(
  work: Promise<T>,
  limitMs: number,
  onLate?: (error?: unknown) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let pending = true;
    const timer = startTimer(() => {
      nextTurn(() => {
        if (!pending) return;
        pending = false;
        reject(new TimedOut(`no answer within ${limitMs} ms`));
      });
    }, limitMs);
    const settle = (inTime: () => void, error?: unknown) => {
      if (!pending) {
        onLate?.(error);
        return;
      }
      pending = false;
      stopTimer(timer);
      inTime();
    };
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error), error),
    );
  });
}
