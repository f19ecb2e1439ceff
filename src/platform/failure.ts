/** Failures of platform calls: a broken exchange, or a response that is not passed on. */
import { errors } from 'undici';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Verdict } from './interpret.js';
import type { Pause } from './pace.js';

export class CallFailed extends Error {
  override readonly name = 'CallFailed';

  /**
   * @param error shown to the caller if there is no retry
   * @param retry `network`: the platform may have acted, so only reads, by the settings. `token`: it did nothing, so any
   *   read, once, with another token
   * @param advice milliseconds of a wait requested by the platform; id of the rejected token
   */
  constructor(
    readonly error: GatewayError,
    readonly retry: 'never' | 'network' | 'token',
    readonly advice: { readonly waitMs?: number | null; readonly refusedToken?: string } = {},
  ) {
    super(error.message, { cause: error });
  }
}

/**
 * Classifies an error before or while reading the response.
 * @param signal of the deadline; its reason takes precedence over the error
 * @returns aborted: the caller disconnected · invalid: the response cannot be trusted
 */
export function outcomeOf(error: unknown, { aborted, reason }: AbortSignal) {
  if (aborted) return asGatewayError(reason).code === 'upstream_timeout' ? 'timeout' : 'aborted';
  if (!(error instanceof GatewayError)) return 'network';
  // A body that broke off or stalled in the gateway's own streams.
  if (error.code === 'upstream_error') return 'network';
  return error.code === 'upstream_timeout' ? 'timeout' : 'invalid';
}

/** The same as a GatewayError. */
export function asFailure(error: unknown, signal: AbortSignal): GatewayError {
  if (signal.aborted) return asGatewayError(signal.reason);
  if (error instanceof GatewayError) return error;
  if (error instanceof errors.ConnectTimeoutError)
    return new GatewayError('upstream_timeout', { cause: error });
  return new GatewayError('upstream_error', {
    detail: 'The platform could not be reached, or closed the connection.',
    cause: error,
  });
}

/** A response that is not passed on. */
export class NoAnswer extends Error {
  constructor(readonly verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>) {
    super(verdict.kind);
  }
}

/** The caller's error, and whether to retry. */
export function failureOf(verdict: NoAnswer['verdict'], refusedToken: string, pause: Pause): CallFailed {
  switch (verdict.kind) {
    case 'credential-refused': {
      const error = new GatewayError('credential_unavailable', { retryAfterS: 5 });
      return new CallFailed(error, 'token', { refusedToken });
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
