/**
 * The circuit breaker of the platform: opens after consecutive failures, then lets single calls probe.
 *
 * Only failures of the platform count: 5xx, 408, a broken connection, a timeout. One per replica. Real time, not the movable
 * clock.
 */
import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';

/** Carries the result of `isFailure` to the breaker's filter. */
class Judged extends Error {
  constructor(
    readonly thrown: unknown,
    readonly isFailure: boolean,
  ) {
    super('judged');
  }
}

/** The library waits by wall time, which may be set back. So it does not wait; `check` does. */
const NO_WAIT_MS = Number.NEGATIVE_INFINITY;

export type Circuit = ReturnType<typeof createCircuit>;

export function createCircuit({
  failures,
  openMs,
  clock,
  isOver = () => false,
}: {
  /** Consecutive failures that open it. */
  readonly failures: number;
  /** How long calls are suspended. */
  readonly openMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Whether the failures that opened it are known to be over, though no call has been made since. */
  readonly isOver?: () => boolean;
}) {
  const breaker = new ConsecutiveBreaker(failures);
  const policy = circuitBreaker(
    // An attempt without a result, e.g. with a disconnected caller, does not close the circuit.
    handleWhen((error) => (error as Judged).isFailure || policy.state === CircuitState.HalfOpen),
    { breaker, halfOpenAfter: NO_WAIT_MS },
  );
  let opensAgainAt = 0;
  policy.onBreak(() => {
    opensAgainAt = clock.monotonicMs() + openMs;
  });
  /** Milliseconds until a call may probe the platform; 0 if the circuit is closed. */
  const leftMs = () =>
    policy.state === CircuitState.Closed ? 0 : Math.max(0, opensAgainAt - clock.monotonicMs());
  const isOpen = () => policy.state !== CircuitState.Closed && (leftMs() > 0 || !isOver());

  /** @throws GatewayError `upstream_circuit_open` while calls are suspended, or another call is probing */
  const check = (): void => {
    if (policy.state !== CircuitState.HalfOpen && leftMs() === 0) return;
    throw new GatewayError('upstream_circuit_open', { retryAfterS: Math.max(1, Math.ceil(leftMs() / 1000)) });
  };

  return {
    check,
    leftMs,
    get isOpen(): boolean {
      return isOpen();
    },
    /** Consecutive failures since the last success. */
    get failures(): number {
      return Number(breaker.state);
    },
    /** Closes it: the platform answered a call that was made without it. */
    async answered(): Promise<void> {
      if (policy.state === CircuitState.Open) await policy.execute(async () => {});
    },
    /**
     * Makes a call and records its result.
     * @param isFailure whether an error of `call` is a failure of the platform
     * @throws what `call` throws; GatewayError `upstream_circuit_open` without calling it, if the circuit opened meanwhile
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
