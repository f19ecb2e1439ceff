/**
 * The platform's limits. Pace: spreads calls to stay within the reported rate. Pause: after a 429 there are no calls until
 * the requested time. Uses monotonic time.
 */
import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { type Headers, single, untilTime } from './interpret.js';

export type Pause = ReturnType<typeof createPause>;

/** The pause after a 429 without `retry-after`. */
const DEFAULT_PAUSE_MS = 10_000;

/** A larger number is a wall time, as announced by replicas of the first versions. */
const WALL_ABOVE_MS = 1e12;

/**
 * @param maxMs longest honored pause
 * @param announce called with the milliseconds left of each pause that the platform requests; not a time of day, as the
 *   clocks of replicas differ
 */
export function createPause(clock: Clock, maxMs: number, announce: (message: string) => void = () => {}) {
  let untilMs = Number.NEGATIVE_INFINITY;
  /** Milliseconds left; 0 when there is none. */
  const leftMs = () => Math.max(0, untilMs - clock.monotonicMs());
  const extend = (ms: number) => {
    untilMs = Math.max(untilMs, clock.monotonicMs() + Math.min(ms, maxMs));
  };
  const error = () =>
    new GatewayError('upstream_rate_limited', { retryAfterS: Math.max(1, Math.ceil(leftMs() / 1000)) });
  return {
    leftMs,
    error,
    /** @throws GatewayError `upstream_rate_limited` while the pause lasts */
    check(): void {
      if (leftMs() > 0) throw error();
    },
    /** @param retryAfterMs requested by the platform; null: none */
    open(retryAfterMs: number | null): void {
      extend(retryAfterMs ?? DEFAULT_PAUSE_MS);
      announce(String(leftMs()));
    },
    /** Takes over an announced pause of another replica; a message of another form is ignored. */
    hear(message: string): void {
      if (!/^\d{1,16}(\.\d+)?$/.test(message)) return;
      const ms = Number(message);
      extend(ms > WALL_ABOVE_MS ? ms - clock.now() : ms);
    },
  };
}

/** Calls of a rate window, and those left of it, as the platform reported them last. */
interface Window {
  readonly limit: number;
  readonly remaining: number;
  readonly endsAtMs: number;
}

export type Pace = ReturnType<typeof createPace>;

/** The platform's framework counts by the minute, and reports the end of the minute only with a 429. */
const WINDOW_MS = 60_000;
/** Longer windows are ignored. */
const LONGEST_WINDOW_MS = 86_400_000;
const SPREAD_BELOW = 0.25;
/** After so many answers without a rate the last one is dropped: it could hold for a whole day. */
const SILENT_ANSWERS = 3;

/**
 * Keeps the rate of `x-ratelimit-limit`, `-remaining` and `-reset`; without them calls are not delayed. The last quarter of a
 * window is spread over its remaining time, which avoids a 429 and its pause. `remaining` counts the calls of all replicas,
 * as they share the credential.
 * @param replicas how many share the rate
 * @param maxWaitMs longest wait between two calls. Shorter than the deadline of a call, so that calls get through and find
 *   out whether the rate still holds
 */
export function createPace(clock: Clock, replicas: () => number, maxWaitMs: number) {
  let window: Window | null = null;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  let underWay = 0;
  /** Answers without a rate since the last one with a rate. */
  let silent = 0;

  function current(nowMs: number): Window | null {
    return window === null || nowMs >= window.endsAtMs ? null : window;
  }

  /** Milliseconds until the next call may start; 0: now. */
  function waitMs(): number {
    const nowMs = clock.monotonicMs();
    const seen = current(nowMs);
    // With none left, a 429 of the platform starts a pause.
    if (seen === null || seen.remaining === 0) return 0;
    const left = Math.max(1, seen.remaining - underWay);
    if (left > seen.limit * SPREAD_BELOW) return 0;
    const everyMs = Math.min(((seen.endsAtMs - nowMs) / left) * replicas(), maxWaitMs);
    return Math.min(Math.max(0, lastStartMs + everyMs - nowMs), seen.endsAtMs - nowMs);
  }

  return {
    waitMs,
    started(): void {
      underWay += 1;
      lastStartMs = clock.monotonicMs();
    },
    /** @param headers of the answer; null if the call failed without any */
    ended(headers: Headers | null): void {
      underWay -= 1;
      if (headers === null) return;
      const limit = wholeNumber(headers['x-ratelimit-limit']);
      const remaining = wholeNumber(headers['x-ratelimit-remaining']);
      // A limit of 0 is ignored: the platform has just answered a call.
      if (!limit || remaining === null) {
        silent += 1;
        if (silent >= SILENT_ANSWERS) window = null;
        return;
      }
      silent = 0;
      const nowMs = clock.monotonicMs();
      const before = current(nowMs);
      // Many more calls left: another window has begun. A few more: answers overtook each other.
      const isSame = before !== null && remaining - before.remaining <= limit * SPREAD_BELOW;
      const resetInMs = resetIn(headers, clock.now()) ?? (isSame ? before.endsAtMs - nowMs : WINDOW_MS);
      window = { limit, remaining, endsAtMs: nowMs + resetInMs };
    },
    /** The current window, with the wait of the next call; null without one. */
    status() {
      const nowMs = clock.monotonicMs();
      const seen = current(nowMs);
      if (seen === null) return null;
      const { limit, remaining, endsAtMs } = seen;
      return { limit, remaining, resetInMs: endsAtMs - nowMs, waitMs: waitMs() };
    },
  };
}

/**
 * Reads `x-ratelimit-reset`: seconds, or a time in seconds or milliseconds since the epoch, distinguished by size.
 * @returns milliseconds until then; null without one, or for one beyond the longest window
 */
function resetIn(headers: Headers, nowMs: number): number | null {
  const reset = wholeNumber(headers['x-ratelimit-reset']);
  if (reset === null) return null;
  const [epochAboveS, epochAboveMs] = [1_000_000_000, 100_000_000_000];
  const inMs = reset > epochAboveMs ? reset : reset * 1000;
  const leftMs = reset > epochAboveS ? untilTime(inMs, headers, nowMs) : inMs;
  return leftMs > LONGEST_WINDOW_MS ? null : leftMs;
}

function wholeNumber(value: string | string[] | undefined): number | null {
  const text = single(value)?.trim() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
