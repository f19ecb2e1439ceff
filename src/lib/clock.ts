import { uptimeMs, wallMs } from './time.js';

/**
 * Time as a value that is passed in, never imported.
 *
 * `now()` is wall time and may be moved by an operator's test clock: freshness, expiry and budgets use it.
 * `monotonicMs()` never jumps: leases, timeouts and durations use it.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, with the test offset applied. */
  now(): number;
  /** Milliseconds from an arbitrary start, the same for all processes of a machine; only differences mean anything. */
  monotonicMs(): number;
}

export interface MovableClock extends Clock {
  readonly offsetMs: number;
  moveTo(offsetMs: number): void;
}

/** The machine's clock, which the test clock (`GATEWAY_TEST_CLOCK`) may move. */
export function createClock(): MovableClock {
  let offsetMs = 0;
  // `performance.now()` is faster, but counts from the start of the process.
  const startedMs = Number(process.hrtime.bigint()) / 1e6 - uptimeMs();
  return {
    now: () => wallMs() + offsetMs,
    monotonicMs: () => startedMs + uptimeMs(),
    get offsetMs() {
      return offsetMs;
    },
    moveTo(next) {
      offsetMs = next;
    },
  };
}
