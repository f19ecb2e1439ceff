/**
 * The rate the platform shows by `x-ratelimit-limit`, `-remaining` and `-reset`: nothing is known of it until an
 * answer shows one. While plenty is left calls go as they come; the last quarter of a window is spread over what is
 * left of it, so that a single call waits for a moment where it would otherwise have met a 429 and its pause.
 *
 * `remaining` counts the calls of all replicas, as they share the credential. Time never jumps here. The headers are
 * believed within bounds: a platform that shows something odd must not stop the calls that would find out.
 */
import type { Clock } from '../lib/clock.js';
import { type Headers, single, untilTime } from './interpret.js';

export interface PaceStatus {
  /** Calls of a whole window, and those left of it, as the platform showed them last. */
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the window is believed to end. */
  readonly resetInMs: number;
  /** Milliseconds until the next call may start; 0: now. */
  readonly waitMs: number;
}

interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** By the clock that never jumps. */
  readonly endsAtMs: number;
}

export type Pace = ReturnType<typeof createPace>;

/** The platform's framework counts by the minute, and shows when the minute ends on its refusals alone. */
const WINDOW_MS = 60_000;
/** A window that is said to be longer is not believed. */
const LONGEST_WINDOW_MS = 86_400_000;
const SPREAD_BELOW = 0.25;
/** So many answers in a row that show no rate, and the last one shown is forgotten: else it would hold for its whole day. */
const SILENT_ANSWERS = 3;

/**
 * @param replicas how many share the rate
 * @param maxWaitMs Longest wait between two calls, whatever the platform shows. It must be shorter than a call's time:
 *   so a call gets through sooner or later, and finds out whether what was shown still holds.
 */
export function createPace(clock: Clock, replicas: () => number, maxWaitMs: number) {
  const resets = createResetReader(clock);
  let window: Window | null = null;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  let underWay = 0;
  /** Answers without a rate since the last one that showed it. */
  let silent = 0;

  function current(nowMs: number): Window | null {
    return window === null || nowMs >= window.endsAtMs ? null : window;
  }

  /** Milliseconds until the next call may start; 0: now. */
  function waitMs(): number {
    const nowMs = clock.monotonicMs();
    const seen = current(nowMs);
    // With none left the platform itself says how long to wait: by a 429, which opens the pause.
    if (seen === null || seen.remaining === 0) return 0;
    const left = Math.max(1, seen.remaining - underWay);
    if (left > seen.limit * SPREAD_BELOW) return 0;
    const everyMs = Math.min(((seen.endsAtMs - nowMs) / left) * replicas(), maxWaitMs);
    return Math.min(Math.max(0, lastStartMs + everyMs - nowMs), seen.endsAtMs - nowMs);
  }

  return {
    waitMs,
    /** A call starts. */
    started(): void {
      underWay += 1;
      lastStartMs = clock.monotonicMs();
    },
    /** Reads an answer's headers; null when the call broke off without any. */
    ended(headers: Headers | null): void {
      underWay -= 1;
      const said = headers === null ? null : readRate(headers);
      if (headers === null) return;
      silent = said === null ? silent + 1 : 0;
      if (said === null) {
        if (silent >= SILENT_ANSWERS) window = null;
        return;
      }
      const nowMs = clock.monotonicMs();
      const resetInMs = resets.read(headers);
      // Much more is left than before: another window has begun. A little more: answers overtook each other.
      const jump = window === null ? 0 : said.remaining - window.remaining;
      const goesOn = window !== null && nowMs < window.endsAtMs && jump <= said.limit * SPREAD_BELOW;
      const guessMs = goesOn && window !== null ? window.endsAtMs : nowMs + WINDOW_MS;
      window = { ...said, endsAtMs: resetInMs === null ? guessMs : nowMs + resetInMs };
    },
    /** The window that the platform showed; null while it shows none, and when it is over. */
    status(): PaceStatus | null {
      const nowMs = clock.monotonicMs();
      const seen = current(nowMs);
      if (seen === null) return null;
      const { limit, remaining, endsAtMs } = seen;
      return { limit, remaining, resetInMs: endsAtMs - nowMs, waitMs: waitMs() };
    },
  };
}

function readRate(headers: Headers): { readonly limit: number; readonly remaining: number } | null {
  const limit = wholeNumber(headers['x-ratelimit-limit']);
  const remaining = wholeNumber(headers['x-ratelimit-remaining']);
  return limit === null || remaining === null ? null : { limit, remaining };
}

/** A reset above these is a time, in seconds or in milliseconds since the epoch, and not what is left until then. */
const [EPOCH_ABOVE_S, EPOCH_ABOVE_MS] = [1_000_000_000, 100_000_000_000];
/** Two resets tell their unit when so long lies between them, … */
const RUN_MS = 1000;
/** … by how many they went down in a second: 1, or 1000. */
const [SECONDS_BELOW, MILLISECONDS_ABOVE] = [10, 100];

/** Reads `x-ratelimit-reset`, of which nothing says in what unit it is. */
function createResetReader(clock: Clock) {
  /** What is left until the reset is told in milliseconds. */
  let inMilliseconds = false;
  let last: { readonly left: number; readonly atMs: number } | null = null;

  function learnUnit(left: number): void {
    const atMs = clock.monotonicMs();
    if (left * 1000 > LONGEST_WINDOW_MS) inMilliseconds = true;
    else if (last !== null && atMs - last.atMs >= RUN_MS && left < last.left) {
      const perSecond = ((last.left - left) * 1000) / (atMs - last.atMs);
      if (perSecond > MILLISECONDS_ABOVE) inMilliseconds = true;
      if (perSecond < SECONDS_BELOW) inMilliseconds = false;
    }
    if (last === null || left > last.left || atMs - last.atMs >= RUN_MS) last = { left, atMs };
  }

  return {
    /** @returns milliseconds, or null when nothing is said that can be believed */
    read(headers: Headers): number | null {
      const reset = wholeNumber(headers['x-ratelimit-reset']);
      if (reset === null) return null;
      const isTime = reset > EPOCH_ABOVE_S;
      if (!isTime) learnUnit(reset);
      const inMs = reset * (isTime ? (reset > EPOCH_ABOVE_MS ? 1 : 1000) : inMilliseconds ? 1 : 1000);
      const leftMs = isTime ? untilTime(inMs, headers, clock.now()) : inMs;
      return leftMs > LONGEST_WINDOW_MS ? null : leftMs;
    },
  };
}

function wholeNumber(value: string | string[] | undefined): number | null {
  const text = single(value)?.trim() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
