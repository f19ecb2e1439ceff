import type { MovableClock } from '../../src/clock.js';

/** Noon of the day that most tests call today. */
const NOON = '2026-11-21T12:00:00.000Z';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Wall time that stands still until it is told to move; the monotonic time is the machine's, unless moved too. */
export interface TestClock extends MovableClock {
  advance(ms: number): void;
  /** Moves the monotonic time on. */
  advanceMonotonic(ms: number): void;
  /** @param iso an ISO time */
  set(iso: string): void;
}

export function createTestClock(iso = NOON): TestClock {
  const startMs = Date.parse(iso);
  let offsetMs = 0;
  let monotonicOffsetMs = 0;
  return {
    now: () => startMs + offsetMs,
    monotonicMs: () => performance.now() + monotonicOffsetMs,
    get offsetMs() {
      return offsetMs;
    },
    moveTo(next) {
      offsetMs = next;
    },
    advance(ms) {
      offsetMs += ms;
    },
    advanceMonotonic(ms) {
      monotonicOffsetMs += ms;
    },
    set(next) {
      offsetMs = Date.parse(next) - startMs;
    },
  };
}
