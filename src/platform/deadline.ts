/** The deadline of a call, including retries and waiting. Real time, not the movable clock. */
import { GatewayError } from '../errors.js';
import { startTimer, stopTimer, uptimeMs } from '../lib/time.js';

export type CallDeadline = Omit<ReturnType<typeof startDeadline>, 'stop'>;

export function startDeadline(timeoutMs: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const endsAt = uptimeMs() + timeoutMs;
  const timer = startTimer(() => controller.abort(new GatewayError('upstream_timeout')), timeoutMs);
  return {
    /** Aborted with `upstream_timeout` at the deadline, or earlier with the caller's reason. */
    signal: caller === undefined ? controller.signal : AbortSignal.any([controller.signal, caller]),
    totalMs: timeoutMs,
    /** Number of the current attempt, from 1. */
    attempt: 1,
    leftMs: () => endsAt - uptimeMs(),
    stop: () => stopTimer(timer),
  };
}

/** Waits for work no longer than the signal allows. @throws the signal's reason */
export async function within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
