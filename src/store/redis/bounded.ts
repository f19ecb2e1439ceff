import { nextTurn, startTimer, stopTimer, uptimeMs } from '../../time.js';

/** The work was not done in time. It may still be done later. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Settles as `work` does, or rejects with {@link TimedOut} after `limitMs`.
 *
 * A process that was busy when the time was up must not take its own slowness for the server's: it waits once more for as
 * long as it was late, at most `limitMs`, as the question may not have been sent before. Then the event loop gets one more
 * turn to read what has already arrived.
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
    const giveUp = () => {
      nextTurn(() => {
        if (!pending) return;
        pending = false;
        reject(new TimedOut(`no answer within ${limitMs} ms`));
      });
    };
    const dueMs = uptimeMs() + limitMs;
    let timer = startTimer(() => {
      const overdueMs = uptimeMs() - dueMs;
      if (overdueMs < 1) giveUp();
      else timer = startTimer(giveUp, Math.min(overdueMs, limitMs));
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
