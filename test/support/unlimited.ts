/** What stands between a call and the platform, holding nothing up: for tests of what comes before and after. */
import { type Clock, createClock } from '../../src/lib/clock.js';
import { type Circuit, createCircuit } from '../../src/platform/circuit.js';
import { createPace, type Pace } from '../../src/platform/pace.js';
import type { Shares } from '../../src/platform/slot.js';

export function unlimited(clock: Clock = createClock()): {
  readonly circuit: Circuit;
  readonly pace: Pace;
  readonly shares: Shares;
} {
  return {
    circuit: createCircuit({ failures: 1_000_000, openMs: 1, clock }),
    pace: createPace(clock, () => 1, 15_000),
    shares: { exhausted: async () => null, take: async () => ({ putBack: () => {} }) },
  };
}
