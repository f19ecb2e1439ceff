import { nextTurn, startTimer, stopTimer, uptimeMs } from '../../lib/time.js';
import { StoreUnavailable } from '../port.js';

const SECRET_TAIL = /,? with args beginning with.*$/s;

/**
 * Describes an error for logs, without the arguments of commands, which ioredis (even the password of AUTH) and servers (for
 * unknown commands) add.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown failure';
  // The connection broke during this command.
  if (error.name === 'MaxRetriesPerRequestError') return 'the connection was closed';
  // A transaction that did not begin: the reason is that of a command.
  if ('previousErrors' in error && Array.isArray(error.previousErrors) && error.previousErrors.length > 0) {
    return describeFailure(error.previousErrors[0]);
  }
  // Node gives an AggregateError an empty message when a name has several addresses.
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeFailure).join('; ');
  }
  return error.message.replace(SECRET_TAIL, '');
}

/** Whether the server answered, even with an error. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Whether the server refused a write for lack of memory; nothing of it was done. */
export function isOutOfMemory(error: unknown): boolean {
  return isAnswer(error) && /\bOOM\b/.test(describeFailure(error));
}

/** The error for callers; without `cause`, see {@link describeFailure}. */
export function unavailable(what: string, error?: unknown): StoreUnavailable {
  return new StoreUnavailable(error === undefined ? what : `${what}: ${describeFailure(error)}`);
}

/** The answers of a pipeline; null for a key with a value of another type. @throws the first other error */
export function answersOf(results: [error: Error | null, result: unknown][] | null): unknown[] {
  return (results ?? []).map(([error, result]) => {
    if (error === null) return result;
    if (isAnswer(error) && error.message.startsWith('WRONGTYPE')) return null;
    throw error;
  });
}

/** The work took too long. It may still be done later. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Settles as `work` does, or rejects with {@link TimedOut} after `limitMs`. If this process was busy meanwhile, it waits again
 * for as long as it was late, at most `limitMs`, and for one turn of the event loop to read answers.
 * @param onLate called if `work` settles later, with its error if it failed
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
