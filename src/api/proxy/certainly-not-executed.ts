/** Whether a call that failed certainly left the platform as it was. Pure. */
import type { CallReport } from '../../telemetry/trace.js';

/** What the platform says before it looks at a request. */
const REFUSED: readonly CallReport['outcome'][] = ['credential-refused', 'rate-limited'];

/**
 * @param error what the call ended with
 * @param tries every try of it; none at all when it never had its turn
 */
export function certainlyNotExecuted(error: unknown, tries: readonly CallReport[]): boolean {
  return tries.every(
    ({ outcome }, index) =>
      REFUSED.includes(outcome) ||
      (outcome === 'network' && index === tries.length - 1 && neverConnected(causeOf(error))),
  );
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
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
