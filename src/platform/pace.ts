/**
 * The rate the platform shows by `x-ratelimit-limit`, `-remaining` and `-reset`: nothing is known of it until an
 * answer shows one. While plenty is left calls go as they come; the last quarter of a window is spread over what is
 * left of it, so that a single call waits for a moment where it would otherwise have met a 429 and its pause.
 *
 * `remaining` counts the calls of all replicas, as they share the credential. Time never jumps here.
 */
import type { Clock } from '../clock.js';
import { type Headers, single } from './interpret.js';

export interface Pace {
  /** Milliseconds until the next call may start; 0: now. */
  waitMs(): number;
  /** A call starts. */
  started(): void;
  /** Reads an answer's headers; null when the call broke off without any. */
  ended(headers: Headers | null): void;
}

interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** By the clock that never jumps. */
  readonly endsAtMs: number;
}

/** The platform's framework counts by the minute, and shows when the minute ends on its refusals alone. */
const WINDOW_MS = 60_000;
const SPREAD_BELOW = 0.25;
/** A reset that is said as a number above this is a time, not a count of seconds. */
const EPOCH_ABOVE_S = 1_000_000_000;

/** @param replicas how many share the rate */
export function createPace(clock: Clock, replicas: () => number): Pace {
  let window: Window | null = null;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  let underWay = 0;

  return {
    waitMs() {
      const nowMs = clock.monotonicMs();
      if (window === null || nowMs >= window.endsAtMs) return 0;
      // With none left the platform itself says how long to wait: by a 429, which opens the pause.
      if (window.remaining === 0) return 0;
      const left = Math.max(1, window.remaining - underWay);
      if (left > window.limit * SPREAD_BELOW) return 0;
      const everyMs = ((window.endsAtMs - nowMs) / left) * replicas();
      return Math.min(Math.max(0, lastStartMs + everyMs - nowMs), window.endsAtMs - nowMs);
    },
    started() {
      underWay += 1;
      lastStartMs = clock.monotonicMs();
    },
    ended(headers) {
      underWay -= 1;
      const said = headers === null ? null : readRate(headers, clock.now());
      if (said === null) return;
      const nowMs = clock.monotonicMs();
      // Much more is left than before: another window has begun. A little more: answers overtook each other.
      const jump = window === null ? 0 : said.remaining - window.remaining;
      const goesOn = window !== null && nowMs < window.endsAtMs && jump <= said.limit * SPREAD_BELOW;
      const guessMs = goesOn && window !== null ? window.endsAtMs : nowMs + WINDOW_MS;
      const endsAtMs = said.resetInMs === null ? guessMs : nowMs + said.resetInMs;
      window = { limit: said.limit, remaining: said.remaining, endsAtMs };
    },
  };
}

interface Rate {
  readonly limit: number;
  readonly remaining: number;
  readonly resetInMs: number | null;
}

function readRate(headers: Headers, nowMs: number): Rate | null {
  const limit = wholeNumber(headers['x-ratelimit-limit']);
  const remaining = wholeNumber(headers['x-ratelimit-remaining']);
  if (limit === null || remaining === null) return null;
  const reset = wholeNumber(headers['x-ratelimit-reset']);
  if (reset === null) return { limit, remaining, resetInMs: null };
  const inMs = reset * 1000 - (reset > EPOCH_ABOVE_S ? nowMs : 0);
  return { limit, remaining, resetInMs: Math.max(0, inMs) };
}

function wholeNumber(value: string | string[] | undefined): number | null {
  const text = single(value)?.trim() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
