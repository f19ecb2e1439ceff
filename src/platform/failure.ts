/** Platform calls that fail: broken off, or answered with nothing to hand over. */
import { errors } from 'undici';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Verdict } from './interpret.js';
import type { Pause } from './pace.js';

/**
 * When another request may follow. `network`: the platform may or may not have acted, so only reads, as often as the
 * settings say. `token`: it did nothing, so any read, once, when there is another token.
 */
type Retry = 'never' | 'network' | 'token';

interface RetryAdvice {
  /** How long the platform asked to wait, milliseconds; null when it did not say. */
  readonly waitMs?: number | null;
  /** Id of the token that the platform refused. */
  readonly refusedToken?: string;
}

export class CallFailed extends Error {
  override readonly name = 'CallFailed';

  /** @param error what a caller is shown when no other request follows */
  constructor(
    readonly error: GatewayError,
    readonly retry: Retry,
    readonly advice: RetryAdvice = {},
  ) {
    super(error.message, { cause: error });
  }
}

/** aborted: the caller is gone · invalid: the answer was read and cannot be trusted */
type Failure = 'network' | 'timeout' | 'aborted' | 'invalid';

/**
 * What it means when a call breaks off before it was answered, or while its answer was read.
 * @param signal of the call's deadline, whose reason counts more than the error it led to
 */
export function outcomeOf(error: unknown, { aborted, reason }: AbortSignal): Failure {
  if (aborted) return asGatewayError(reason).code === 'upstream_timeout' ? 'timeout' : 'aborted';
  if (!(error instanceof GatewayError)) return 'network';
  // A body that broke off, or stalled, on its way through the gateway's own streams.
  if (error.code === 'upstream_error') return 'network';
  return error.code === 'upstream_timeout' ? 'timeout' : 'invalid';
}

/** The same as an error that may be shown. */
export function asFailure(error: unknown, signal: AbortSignal): GatewayError {
  if (signal.aborted) return asGatewayError(signal.reason);
  if (error instanceof GatewayError) return error;
  if (error instanceof errors.ConnectTimeoutError)
    return new GatewayError('upstream_timeout', { cause: error });
  return new GatewayError('upstream_error', {
    detail: 'The platform could not be reached, or broke off its answer.',
    cause: error,
  });
}

/** The platform answered, with nothing to hand over. */
export class NoAnswer extends Error {
  constructor(readonly verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>) {
    super(verdict.kind);
  }
}

/** What the caller gets for it, and whether another request may follow. */
export function failureOf(
  verdict: NoAnswer['verdict'],
  { id }: { readonly id: string },
  pause: Pause,
): CallFailed {
  switch (verdict.kind) {
    case 'credential-refused': {
      const error = new GatewayError('credential_unavailable', { retryAfterS: 5 });
      return new CallFailed(error, 'token', { refusedToken: id });
    }
    case 'rate-limited':
      pause.open(verdict.retryAfterMs);
      return new CallFailed(pause.error(), 'never');
    case 'failed': {
      const { error, retryable, retryAfterMs } = verdict;
      return new CallFailed(error, retryable ? 'network' : 'never', { waitMs: retryAfterMs });
    }
    case 'invalid':
      return new CallFailed(verdict.error, 'never');
  }
}
