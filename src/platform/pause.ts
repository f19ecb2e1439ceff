/** After a 429 nobody asks the platform until it wants to be asked again. */
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';

export interface Pause {
  /** @throws GatewayError `upstream_rate_limited` while the pause lasts */
  check(): void;
  /** @param retryAfterMs what the platform asked for; null when it did not say */
  open(retryAfterMs: number | null): void;
  /** The error of the present pause. */
  error(): GatewayError;
  /** Milliseconds left; 0 when there is none. */
  leftMs(): number;
}

/** When the platform limits without saying for how long. */
const UNSAID_MS = 10_000;

/** @param maxMs longest wait that is believed */
export function createPause(clock: Clock, maxMs: number): Pause {
  let untilMs = 0;
  const leftMs = () => Math.max(0, untilMs - clock.now());
  const error = () =>
    new GatewayError('upstream_rate_limited', { retryAfterS: Math.max(1, Math.ceil(leftMs() / 1000)) });
  return {
    leftMs,
    error,
    check() {
      if (leftMs() > 0) throw error();
    },
    open(retryAfterMs) {
      const wait = Math.min(retryAfterMs ?? UNSAID_MS, maxMs);
      untilMs = Math.max(untilMs, clock.now() + wait);
    },
  };
}
