/** After a 429 nobody asks the platform until it wants to be asked again; replicas tell each other. */

import { GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';

export type Pause = ReturnType<typeof createPause>;

/** When the platform limits without saying for how long. */
const UNSAID_MS = 10_000;

/** A number above this is an end by the wall clock, as replicas of the first versions tell it. */
const WALL_ABOVE_MS = 1e12;

/**
 * @param maxMs longest wait that is believed
 * @param tell Told what is left of each pause that the platform asks for, in milliseconds: clocks of replicas may
 *   differ, and be set, so nobody's clock is part of it.
 */
export function createPause(clock: Clock, maxMs: number, tell: (message: string) => void = () => {}) {
  /** By the clock that never jumps. */
  let untilMs = Number.NEGATIVE_INFINITY;
  /** Milliseconds left; 0 when there is none. */
  const leftMs = () => Math.max(0, untilMs - clock.monotonicMs());
  const extend = (ms: number) => {
    untilMs = Math.max(untilMs, clock.monotonicMs() + Math.min(ms, maxMs));
  };
  /** The error of the present pause. */
  const error = () =>
    new GatewayError('upstream_rate_limited', { retryAfterS: Math.max(1, Math.ceil(leftMs() / 1000)) });
  return {
    leftMs,
    error,
    /** @throws GatewayError `upstream_rate_limited` while the pause lasts */
    check(): void {
      if (leftMs() > 0) throw error();
    },
    /** @param retryAfterMs what the platform asked for; null when it did not say */
    open(retryAfterMs: number | null): void {
      extend(retryAfterMs ?? UNSAID_MS);
      tell(String(leftMs()));
    },
    /** Another replica was told to wait. What cannot be read of its message is left alone. */
    hear(message: string): void {
      if (!/^\d{1,16}(\.\d+)?$/.test(message)) return;
      const told = Number(message);
      extend(told > WALL_ABOVE_MS ? told - clock.now() : told);
    },
  };
}
