import type { Clock } from '../../clock.js';

/** Milliseconds since the Unix epoch that nobody can move. */
export type RealTime = () => number;

/**
 * Real time for what outlives this process: the wall time of this moment, which nobody has moved yet as the store
 * opens before anything is read from it, and from there on time that never jumps.
 */
export function createRealTime(clock: Clock): RealTime {
  const offsetMs = clock.now() - clock.monotonicMs();
  return () => offsetMs + clock.monotonicMs();
}
