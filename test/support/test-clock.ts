/** The clocks of tests: time is moved, never waited for. */
import { createCorrection, type MovableClock } from '../../src/lib/clock.js';
import type { TimeSource } from '../../src/lib/time.js';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Noon of the day that most tests call today, in milliseconds since the Unix epoch. */
export const NOON = Date.parse('2026-11-21T12:00:00.000Z');

export interface TestClock extends MovableClock {
  /** Moves wall time alone, as somebody who sets a clock. */
  advance(ms: number): void;
  /** Moves the monotonic time on, alone. */
  advanceMonotonic(ms: number): void;
  /** Lets time pass: both. */
  pass(ms: number): void;
  /** @param iso an ISO time of the wall */
  set(iso: string): void;
}

/** Wall time that stands still until it is told to move; the monotonic time is the machine's, unless moved too. */
export function createTestClock(iso?: string): TestClock {
  return createClockOn(() => performance.now(), iso);
}

/** Wall time and monotonic time that both stand still until they are told to move. */
export function createStandingClock(iso?: string): TestClock {
  return createClockOn(() => STANDS_AT_MS, iso);
}

/** Nothing may depend on where monotonic time begins. */
const STANDS_AT_MS = 1_000_000;

function createClockOn(monotonicMs: () => number, iso?: string): TestClock {
  const startMs = iso === undefined ? NOON : Date.parse(iso);
  let offsetMs = 0;
  let monotonicOffsetMs = 0;
  return {
    now: () => startMs + offsetMs,
    // It is not the machine's, by which the store is compared.
    follow() {},
    apartMs: 0,
    monotonicMs: () => monotonicMs() + monotonicOffsetMs,
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
    pass(ms) {
      offsetMs += ms;
      monotonicOffsetMs += ms;
    },
    set(next) {
      offsetMs = Date.parse(next) - startMs;
    },
  };
}

/** The clock of a process that has its time from there; nobody moves it. */
export function clockOf(time: Pick<TimeSource, 'wallMs' | 'uptimeMs'>): MovableClock {
  const correction = createCorrection();
  return {
    now: () => time.wallMs() + correction.ms,
    monotonicMs: () => time.uptimeMs(),
    follow: correction.follow,
    get apartMs() {
      return correction.apartMs;
    },
    offsetMs: 0,
    moveTo() {},
  };
}
