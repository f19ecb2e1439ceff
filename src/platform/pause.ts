/** After a 429 nobody asks the platform until it wants to be asked again; replicas tell each other. */
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';

export interface Pause {
  /** @throws GatewayError `upstream_rate_limited` while the pause lasts */
  check(): void;
  /** @param retryAfterMs what the platform asked for; null when it did not say */
  open(retryAfterMs: number | null): void;
  /** Another replica was told to wait. @param untilMs by the wall clock */
  hear(untilMs: number): void;
  /** The error of the present pause. */
  error(): GatewayError;
  /** Milliseconds left; 0 when there is none. */
  leftMs(): number;
}

/** When the platform limits without saying for how long. */
const UNSAID_MS = 10_000;

/**
 * @param maxMs longest wait that is believed
 * @param tell told the end of each pause that the platform asks for, by the wall clock
 */
export function createPause(clock: Clock, maxMs: number, tell: (untilMs: number) => void = () => {}): Pause {
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
      tell(untilMs);
    },
    hear(toldMs) {
      if (Number.isFinite(toldMs)) untilMs = Math.max(untilMs, Math.min(toldMs, clock.now() + maxMs));
    },
  };
}
