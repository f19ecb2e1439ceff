/** What became of a write, as far as it can be told, and what its caller is told where it cannot. Pure. */
import { type ErrorCode, GatewayError } from '../../errors.js';
import type { CallReport } from '../../telemetry/trace.js';

/** Whether the platform did what it was asked for. */
export type Became = { readonly acted: boolean } | { readonly unknown: string };

/**
 * By these the platform says that it does not take up the request (RFC 9110, section 15.5; RFC 6585). Of the others it
 * may have done something: 409 is said of what is there already, 424 of what came half-way.
 */
const NOT_TAKEN_UP = new Set([
  400, 401, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 428, 429, 431,
]);

/** @param status of the platform's answer */
export function becameOf(status: number): Became {
  if (status < 400) return { acted: true };
  return NOT_TAKEN_UP.has(status)
    ? { acted: false }
    : { unknown: `the platform answered with status ${status}` };
}

/** @param tries every try of the write, which ended with `error` and without an answer that was passed on */
export function becameOfFailure(error: unknown, tries: readonly CallReport[]): Became {
  if (certainlyNotExecuted(error, tries)) return { acted: false };
  return { unknown: `it ended with ${error instanceof GatewayError ? error.code : 'internal_error'}` };
}

/** What the platform says before it looks at a request. */
const REFUSED: readonly CallReport['outcome'][] = ['credential-refused', 'rate-limited'];

/**
 * Whether a call that failed certainly left the platform as it was.
 * @param error what the call ended with
 * @param tries every try of it; none at all when it never had its turn
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

/** No name, no connection, or no trust in who answered: not a byte of the request was sent. */
function neverConnected(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // Where a host has several addresses, each has an error of its own.
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(neverConnected);
  const { code = '', syscall } = cause as NodeJS.ErrnoException;
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    /CERT|LEAF_SIGNATURE/.test(code)
  );
}

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
