/** What a caller is told of a write that failed, when the platform may have carried it out all the same. Pure. */
import { type ErrorCode, GatewayError } from '../../errors.js';
import type { CallReport } from '../../telemetry/trace.js';
import { certainlyNotExecuted } from './certainly-not-executed.js';

/** Where the catalogue speaks of reports, and of a cache that no write has. */
const HAPPENED: Partial<Record<ErrorCode, string>> = {
  upstream_error: 'The platform failed, or the connection to it broke off.',
  upstream_timeout: 'The platform did not answer in time.',
  upstream_invalid_response: 'The platform gave an answer that is not passed on.',
};

/**
 * @param tries every try of the write
 * @returns the error to be thrown in place of `error`
 */
export function asWriteFailure(error: unknown, tries: readonly CallReport[]): unknown {
  if (!(error instanceof GatewayError) || certainlyNotExecuted(error, tries)) return error;
  const happened = error.options.detail ?? HAPPENED[error.code];
  if (happened === undefined) return error;
  return new GatewayError(error.code, {
    ...error.options,
    status: error.status,
    detail: `${happened} The write may have been carried out all the same: look on the platform before you send it again.`,
  });
}
