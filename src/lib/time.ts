/**
 * Where the whole program takes its time from: nothing else in `src` may ask the machine for it (`.ci/sources.mjs`), so
 * that the simulation (`test/simulation/`) can put another time in its place. What depends on the hour of the wall is
 * passed a `Clock` all the same, which an operator may move.
 */
import * as machine from 'node:timers/promises';

/** What runs later, until it is stopped. */
export interface Timer {
  /** Keeps the process alive, as it does at first. */
  ref(): Timer;
  /** Keeps no process alive. */
  unref(): Timer;
}

export interface SleepOptions {
  /** Ends it early: the promise rejects with an AbortError. */
  readonly signal?: AbortSignal;
  /** False: keeps no process alive. */
  readonly ref?: boolean;
}

/** Where time comes from. */
export interface TimeSource {
  uptimeMs(): number;
  wallMs(): number;
  startTimer(work: () => void, ms: number): Timer;
  stopTimer(timer: Timer): void;
  startTicks(work: () => void, everyMs: number): Timer;
  stopTicks(timer: Timer): void;
  nextTurn(work: () => void): void;
  turn(): Promise<void>;
  sleep(ms: number, options?: SleepOptions): Promise<void>;
  timeoutSignal(ms: number): AbortSignal;
}

/** The machine's own. Globals are looked up at each call: tests lay theirs over them. */
const MACHINE: TimeSource = {
  uptimeMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer: (work, ms) => setTimeout(work, ms),
  stopTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
  startTicks: (work, everyMs) => setInterval(work, everyMs),
  stopTicks: (timer) => clearInterval(timer as NodeJS.Timeout),
  nextTurn: (work) => void setImmediate(work),
  turn: () => machine.setImmediate(),
  sleep: (ms, options) => machine.setTimeout(ms, undefined, options),
  timeoutSignal: (ms) => AbortSignal.timeout(ms),
};

let source = MACHINE;

/** Puts another time in the place of the machine's, or takes it back. For tests. */
export function useTime(other: TimeSource | null): void {
  source = other ?? MACHINE;
}

/** @returns milliseconds since the process began; it never jumps */
export function uptimeMs(): number {
  return source.uptimeMs();
}

/** @returns milliseconds since the Unix epoch, as the machine has it */
export function wallMs(): number {
  return source.wallMs();
}

/** Does work once, no sooner than in so many milliseconds. */
export function startTimer(work: () => void, ms: number): Timer {
  return source.startTimer(work, ms);
}

export function stopTimer(timer: Timer | undefined): void {
  if (timer !== undefined) source.stopTimer(timer);
}

/** Does work every so many milliseconds. */
export function startTicks(work: () => void, everyMs: number): Timer {
  return source.startTicks(work, everyMs);
}

export function stopTicks(timer: Timer | undefined): void {
  if (timer !== undefined) source.stopTicks(timer);
}

/** Does work in the next turn of the event loop. */
export function nextTurn(work: () => void): void {
  source.nextTurn(work);
}

/** Resolves in the next turn of the event loop. */
export function turn(): Promise<void> {
  return source.turn();
}

/** Resolves in so many milliseconds. @throws AbortError when its signal is aborted before */
export function sleep(ms: number, options?: SleepOptions): Promise<void> {
  return source.sleep(ms, options);
}

/** @returns a signal that is aborted in so many milliseconds, by a TimeoutError; it keeps no process alive */
export function timeoutSignal(ms: number): AbortSignal {
  return source.timeoutSignal(ms);
}
