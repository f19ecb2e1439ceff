import { uptimeMs, wallMs } from './time.js';

/**
 * Time as a value that is passed in, never imported.
 *
 * `now()` is wall time and may be moved by an operator's test clock: freshness, expiry and budgets use it.
 * `monotonicMs()` never jumps: leases, timeouts and durations use it.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch, with the test offset applied, and corrected by the clock of the store. */
  now(): number;
  /** Milliseconds from an arbitrary start, the same for all processes of a machine; only differences mean anything. */
  monotonicMs(): number;
}

export interface MovableClock extends Clock {
  readonly offsetMs: number;
  moveTo(offsetMs: number): void;
  /**
   * Corrects wall time, so that replicas agree on what is past.
   * @param aheadMs by how much the clock of the store is ahead of `wallMs()` of this process
   */
  follow(aheadMs: number): void;
  /** By how much the clock of the store is ahead if it is too far away to be followed, else 0. */
  readonly apartMs: number;
}

/** Smaller differences may be the time that the store's answer took. */
const FOLLOW_FROM_MS = 1000;
/** Of clocks that are further apart nobody knows which one is wrong. */
const FOLLOW_TO_MS = 300_000;

/** The correction of a clock that follows the store's. */
export function createCorrection() {
  let [ms, apartMs] = [0, 0];
  return {
    get ms() {
      return ms;
    },
    get apartMs() {
      return apartMs;
    },
    follow(aheadMs: number): void {
      apartMs = Math.abs(aheadMs) > FOLLOW_TO_MS ? Math.round(aheadMs) : 0;
      const wanted = apartMs === 0 ? Math.round(aheadMs) : 0;
      if (Math.abs(wanted - ms) >= FOLLOW_FROM_MS) ms = wanted;
    },
  };
}

/** The machine's clock, which the test clock (`GATEWAY_TEST_CLOCK`) may move. */
export function createClock(): MovableClock {
  let offsetMs = 0;
  const correction = createCorrection();
  // `performance.now()` is faster, but counts from the start of the process.
  const startedMs = Number(process.hrtime.bigint()) / 1e6 - uptimeMs();
  return {
    now: () => wallMs() + correction.ms + offsetMs,
    follow: correction.follow,
    get apartMs() {
      return correction.apartMs;
    },
    monotonicMs: () => startedMs + uptimeMs(),
    get offsetMs() {
      return offsetMs;
    },
    moveTo(next) {
      offsetMs = next;
    },
  };
}
