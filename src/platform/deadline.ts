/** The whole time of a call: tries, and waiting for a slot or for others included. Real time, never the movable clock. */
import { GatewayError } from '../errors.js';
import { startTimer, stopTimer, uptimeMs } from '../lib/time.js';

export interface Deadline {
  /** Aborted with `upstream_timeout` when time is up, or with the caller's own reason when that comes first. */
  readonly signal: AbortSignal;
  /** Whole time it was given, milliseconds. */
  readonly totalMs: number;
  /** Which try of the call is under way, from 1. */
  attempt: number;
  leftMs(): number;
  stop(): void;
}

/** When a call's time is over, waiting and tries included. */
export type CallDeadline = Omit<Deadline, 'stop'>;

export function startDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const endsAt = uptimeMs() + timeoutMs;
  const timer = startTimer(() => controller.abort(new GatewayError('upstream_timeout')), timeoutMs);
  return {
    signal: caller === undefined ? controller.signal : AbortSignal.any([controller.signal, caller]),
    totalMs: timeoutMs,
    attempt: 1,
    leftMs: () => endsAt - uptimeMs(),
    stop: () => stopTimer(timer),
  };
}

/** Waits for work of others no longer than the signal allows. @throws the signal's reason */
export async function within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let giveUp = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
