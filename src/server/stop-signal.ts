/** npm forwards a signal that the terminal already sent to all processes, so one Ctrl-C arrives twice. */
import { uptimeMs } from '../lib/time.js';

const SAME_SIGNAL_MS = 1000;

/** Resolves at the first SIGTERM or SIGINT; a later one ends the process with code 1. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null;
    const stop = () => {
      const nowMs = uptimeMs();
      if (firstAtMs !== null && nowMs - firstAtMs > SAME_SIGNAL_MS) process.exit(1);
      firstAtMs ??= nowMs;
      resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
