/**
 * Tries again what came to nothing, within its deadline. Between two tries nothing is held: whoever tries again
 * acquires a slot, and takes locks, anew.
 */
import type { Logger } from 'pino';
import { randomShare } from '../chance.js';
import { asGatewayError } from '../errors.js';
import { sleep } from '../time.js';
import { type CallDeadline, startDeadline, within } from './deadline.js';
import { CallFailed } from './failure.js';
import type { TokenSource } from './token-source.js';

/**
 * read: a GET or HEAD, may be tried again · post-read: a POST that reads, only after its token was refused · write:
 * never, nor anything whose body streams
 */
export type CallKind = 'read' | 'post-read' | 'write';

export interface RetryingOptions {
  readonly tokens: Pick<TokenSource, 'refused'>;
  readonly retry: { readonly attempts: number; readonly baseMs: number };
  readonly logger: Logger;
}

/**
 * @param timeoutMs whole time for it, tries and waiting included
 * @param attempt acquires and sends; it holds nothing when it is over. Told of the failure it follows, null at first
 * @param caller ends it before its time
 * @throws GatewayError of the last attempt
 */
export type Retrying = <T>(
  kind: CallKind,
  timeoutMs: number,
  attempt: (deadline: CallDeadline, after: CallFailed | null) => Promise<T>,
  caller?: AbortSignal,
) => Promise<T>;

export function createRetrying({ tokens, retry, logger }: RetryingOptions): Retrying {
  return async function retrying(kind, timeoutMs, attempt, caller) {
    const deadline = startDeadline(timeoutMs, caller);
    try {
      return await tryUntil(kind, deadline, attempt);
    } finally {
      deadline.stop();
    }
  };

  async function tryUntil<T>(
    kind: CallKind,
    deadline: CallDeadline,
    attempt: (deadline: CallDeadline, after: CallFailed | null) => Promise<T>,
  ): Promise<T> {
    let retries = 0;
    let replaced: string | null = null;
    let after: CallFailed | null = null;
    for (;;) {
      try {
        return await attempt(deadline, after);
      } catch (failure) {
        if (!(failure instanceof CallFailed)) throw failure;
        const again = await whatNext(failure, deadline);
        const { refusedToken = null } = failure.advice;
        // A try that is shared with others may have begun before the token was replaced: it counts once.
        if (again === 'token' && kind !== 'write' && (replaced ?? refusedToken) === refusedToken)
          replaced = refusedToken;
        else if (again === 'network' && retries < retry.attempts && kind === 'read') retries += 1;
        else throw failure.error;
        const waitMs =
          again === 'token' ? 0 : Math.max(failure.advice.waitMs ?? 0, backoffMs(retries, retry.baseMs));
        if (waitMs > deadline.leftMs()) throw failure.error;
        logger.debug({ retries, waitMs, code: failure.error.code }, 'platform call failed; trying again');
        await sleep(waitMs, { signal: deadline.signal }).catch(() => {
          throw failure.error;
        });
        after = failure;
        deadline.attempt += 1;
      }
    }
  }

  /** The credential is told of a refused token in any case: it mints another, or stops asking. */
  async function whatNext({ retry: again, advice }: CallFailed, { signal }: CallDeadline) {
    const { refusedToken } = advice;
    if (refusedToken === undefined) return again;
    const recovered = await within(signal, () => tokens.refused(refusedToken)).catch((error: unknown) => {
      throw asGatewayError(error);
    });
    return recovered ? 'token' : 'never';
  }
}

/** Full jitter, so that callers who failed together do not come back together. */
function backoffMs(retries: number, baseMs: number): number {
  return randomShare() * baseMs * 2 ** (retries - 1);
}
