/** The outcome of a write: executed, not executed, or unknown; and the error for an unknown one. Pure. */
import { type ErrorCode, GatewayError } from '../../errors.js';
import type { CallReport } from '../../telemetry/trace.js';

/** Whether the platform executed the write. `unknown` is the reason, for people. */
export type WriteOutcome = { readonly acted: boolean } | { readonly unknown: string };

/**
 * By these the platform refuses the request before executing it (RFC 9110, section 15.5; RFC 6585). Others may follow a
 * partial execution: 409 for existing resources, 424 for a failed later step.
 */
const NOT_EXECUTED = new Set([
  400, 401, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 428, 429, 431,
]);

export function outcomeOfStatus(status: number): WriteOutcome {
  if (status < 400) return { acted: true };
  return NOT_EXECUTED.has(status)
    ? { acted: false }
    : { unknown: `the platform answered with status ${status}` };
}

/** @param tries all tries of the write, which ended with `error` and without an answer */
export function outcomeOfFailure(error: unknown, tries: readonly CallReport[]): WriteOutcome {
  if (certainlyNotExecuted(error, tries)) return { acted: false };
  return { unknown: `it ended with ${error instanceof GatewayError ? error.code : 'internal_error'}` };
}

/** Refusals before the platform reads a request. */
const REFUSED: readonly CallReport['outcome'][] = ['credential-refused', 'rate-limited'];

/**
 * Whether a failed call certainly changed nothing on the platform.
 * @param error the error of the call
 * @param tries all tries; none if it was never sent
 */
export function certainlyNotExecuted(error: unknown, tries: readonly CallReport[]): boolean {
  return tries.every(
    ({ outcome }, index) =>
      REFUSED.includes(outcome) ||
      (outcome === 'network' &&
        index === tries.length - 1 &&
        error instanceof Error &&
        neverConnected(error.cause)),
  );
}

/** DNS, connection or certificate failure: no byte of the request was sent. */
function neverConnected(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // Several addresses of a host: one error each.
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(neverConnected);
  const { code = '', syscall } = cause as NodeJS.ErrnoException;
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    /CERT|LEAF_SIGNATURE/.test(code)
  );
}

/** Replaces meanings that mention reports or the cache. */
const HAPPENED: Partial<Record<ErrorCode, string>> = {
  upstream_error: 'The platform failed, or the connection to it was lost.',
  upstream_timeout: 'The platform did not respond in time.',
  upstream_invalid_response: "The platform's response is not valid.",
};

/**
 * @param tries all tries of the write
 * @returns the error to throw instead of `error`
 */
export function asWriteFailure(error: unknown, tries: readonly CallReport[]): unknown {
  if (!(error instanceof GatewayError) || certainlyNotExecuted(error, tries)) return error;
  const happened = error.options.detail ?? HAPPENED[error.code];
  if (happened === undefined) return error;
  return new GatewayError(error.code, {
    ...error.options,
    status: error.status,
    detail: `${happened} The write may have been executed.`,
    help: 'Check the platform before you send it again.',
  });
}
