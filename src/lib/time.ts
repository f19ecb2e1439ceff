/**
 * The only source of time in `src` (`.ci/sources.mjs`), so that the simulation (`test/simulation/`) can replace it. Code that
 * depends on wall time gets a `Clock`, which an operator may move.
 */
import * as machine from 'node:timers/promises';

export interface Timer {
  /** Keeps the process alive (default). */
  ref(): Timer;
  /** Does not keep the process alive. */
  unref(): Timer;
}

export interface SleepOptions {
  /** Rejects with an AbortError when aborted. */
  readonly signal?: AbortSignal;
  /** False: does not keep the process alive. */
  readonly ref?: boolean;
}

export type TimeSource = typeof MACHINE;

/** Globals are read at each call, as tests replace them. */
const MACHINE = {
  uptimeMs: (): number => performance.now(),
  wallMs: (): number => Date.now(),
  startTimer: (work: () => void, ms: number): Timer => setTimeout(work, ms),
  stopTimer: (timer: Timer): void => clearTimeout(timer as NodeJS.Timeout),
  startTicks: (work: () => void, everyMs: number): Timer => setInterval(work, everyMs),
  stopTicks: (timer: Timer): void => clearInterval(timer as NodeJS.Timeout),
  nextTurn: (work: () => void): void => void setImmediate(work),
  turn: (): Promise<void> => machine.setImmediate(),
  sleep: (ms: number, options?: SleepOptions): Promise<void> => machine.setTimeout(ms, undefined, options),
  timeoutSignal: (ms: number): AbortSignal => AbortSignal.timeout(ms),
};

let source = MACHINE;

/** Replaces the source, or restores it with null. For tests. */
export function useTime(other: TimeSource | null): void {
  source = other ?? MACHINE;
}

/** @returns monotonic milliseconds since the process started */
export function uptimeMs(): number {
  return source.uptimeMs();
}

/** @returns milliseconds since the Unix epoch */
export function wallMs(): number {
  return source.wallMs();
}

export function startTimer(work: () => void, ms: number): Timer {
  return source.startTimer(work, ms);
}

export function stopTimer(timer: Timer | undefined): void {
  if (timer !== undefined) source.stopTimer(timer);
}

export function startTicks(work: () => void, everyMs: number): Timer {
  return source.startTicks(work, everyMs);
}

export function stopTicks(timer: Timer | undefined): void {
  if (timer !== undefined) source.stopTicks(timer);
}

export function nextTurn(work: () => void): void {
  source.nextTurn(work);
}

/** Resolves in the next turn of the event loop. */
export function turn(): Promise<void> {
  return source.turn();
}

/** @throws AbortError if its signal is aborted */
export function sleep(ms: number, options?: SleepOptions): Promise<void> {
  return source.sleep(ms, options);
}

/** @returns a signal aborted with a TimeoutError; does not keep the process alive */
export function timeoutSignal(ms: number): AbortSignal {
  return source.timeoutSignal(ms);
}
