/** Log lines about a fault that many calls meet: one when it begins, one a minute with a count while it lasts, one when it is over. */
import type { Logger } from 'pino';
import { uptimeMs } from '../lib/time.js';

const TELL_EVERY_MS = 60_000;
/** What fails now and then is not over after one success. */
const QUIET_MS = 10_000;

interface OutageOptions {
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** What is counted, as a member of the lines. */
  readonly counted: 'requests' | 'answers' | 'spans' | 'turns';
  readonly lasts: string;
  readonly over: string;
  /** It is over with the first success that comes so long after the last failure. */
  readonly quietMs?: number;
  /** A clock that never jumps, milliseconds. */
  readonly nowMs?: () => number;
}

export function createOutage(options: OutageOptions) {
  const { logger, counted, lasts, over, quietMs = QUIET_MS, nowMs = uptimeMs } = options;
  let count = 0;
  let [failedAtMs, toldAtMs] = [0, 0];
  return {
    /** @param why members of the line. @param met how many meet it */
    failed(why: object, met = 1): void {
      const now = nowMs();
      const isDue = count === 0 || now - toldAtMs >= TELL_EVERY_MS;
      count += met;
      failedAtMs = now;
      if (!isDue) return;
      toldAtMs = now;
      logger.warn({ [counted]: count, ...why }, lasts);
    },
    worked(): void {
      if (count === 0 || nowMs() - failedAtMs < quietMs) return;
      logger.info({ [counted]: count }, over);
      count = 0;
    },
  };
}
