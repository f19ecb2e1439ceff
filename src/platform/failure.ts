/** What it means when a platform call breaks off before it was answered, or while its answer was read. */
import { errors } from 'undici';
import { asGatewayError, GatewayError } from '../errors.js';

/** aborted: the caller is gone · invalid: the answer was read and cannot be vouched for */
export type Failure = 'network' | 'timeout' | 'aborted' | 'invalid';

/** @param signal of the call's deadline, whose reason counts more than how the call felt it */
export function outcomeOf(error: unknown, { aborted, reason }: AbortSignal): Failure {
  if (aborted) return asGatewayError(reason).code === 'upstream_timeout' ? 'timeout' : 'aborted';
  if (!(error instanceof GatewayError)) return 'network';
  // A body that broke off, or fell silent, under way through the gateway's own streams.
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
