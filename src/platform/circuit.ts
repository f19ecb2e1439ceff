/**
 * A platform that fails again and again is left alone for a while; then one call tries whether it is back.
 *
 * Only failures of the platform itself count: a 5xx or 408, a broken connection, a time-out. Each replica judges for
 * itself. Real time, never the movable clock.
 */
import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';

/** Carries the verdict of `isFailure` to the breaker's own filter. */
class Judged extends Error {
  constructor(
    readonly thrown: unknown,
    readonly isFailure: boolean,
  ) {
    super('judged');
  }
}

/** The library waits by the machine's clock, which may be set back an hour. So it does not wait at all: `check` does. */
const NO_WAIT_MS = Number.NEGATIVE_INFINITY;

export type Circuit = ReturnType<typeof createCircuit>;

export function createCircuit({
  failures,
  openMs,
  clock,
}: {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** For how long the platform is left alone. */
  readonly openMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}) {
  const policy = circuitBreaker(
    // A try without a result, such as one whose caller has gone, does not show that the platform is back.
    handleWhen((error) => (error as Judged).isFailure || policy.state === CircuitState.HalfOpen),
    { breaker: new ConsecutiveBreaker(failures), halfOpenAfter: NO_WAIT_MS },
  );
  let opensAgainAt = 0;
  policy.onBreak(() => {
    opensAgainAt = clock.monotonicMs() + openMs;
  });
  const isOpen = () => policy.state !== CircuitState.Closed;
  /** Milliseconds until a call may try the platform again; 0 when the circuit is closed. */
  const leftMs = () => (isOpen() ? Math.max(0, opensAgainAt - clock.monotonicMs()) : 0);

  const refusal = () =>
    new GatewayError('upstream_circuit_open', { retryAfterS: Math.max(1, Math.ceil(leftMs() / 1000)) });

  /** @throws GatewayError `upstream_circuit_open` while the platform is left alone, or another call is trying it */
  const check = (): void => {
    if (policy.state === CircuitState.HalfOpen || leftMs() > 0) throw refusal();
  };

  return {
    check,
    leftMs,
    get isOpen(): boolean {
      return isOpen();
    },
    /**
     * Makes a call and learns from it.
     * @param isFailure whether an error of `call` is a failure of the platform
     * @throws what `call` throws; GatewayError `upstream_circuit_open` when it opened since the last check: then `call`
     *   was not called
     */
    async run<T>(call: () => Promise<T>, isFailure: (error: unknown) => boolean): Promise<T> {
      check();
      try {
        return await policy.execute(() =>
          call().catch((error: unknown) => {
            throw new Judged(error, isFailure(error));
          }),
        );
      } catch (error) {
        throw error instanceof Judged ? error.thrown : error;
      }
    },
  };
}
