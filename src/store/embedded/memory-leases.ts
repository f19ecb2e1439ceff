import type { Clock } from '../../clock.js';
import type { Leases } from '../port.js';
import { wholeMs } from '../whole-ms.js';

interface Lease {
  readonly owner: string;
  readonly endsAtMs: number;
}

/** With more leases than this, those that have ended are looked for and dropped. */
const SWEEP_AT_LEAST_ABOVE = 1_024;

/** Leases within this process, by time that never jumps. */
export function createMemoryLeases(clock: Clock): Leases {
  const leases = new Map<string, Lease>();
  let sweepAbove = SWEEP_AT_LEAST_ABOVE;

  function ownerOf(key: string): string | undefined {
    const lease = leases.get(key);
    return lease !== undefined && clock.monotonicMs() < lease.endsAtMs ? lease.owner : undefined;
  }

  function hold(key: string, owner: string, leaseMs: number): true {
    leases.set(key, { owner, endsAtMs: clock.monotonicMs() + leaseMs });
    return true;
  }

  function sweep(): void {
    if (leases.size <= sweepAbove) return;
    for (const key of leases.keys()) if (ownerOf(key) === undefined) leases.delete(key);
    sweepAbove = Math.max(SWEEP_AT_LEAST_ABOVE, 2 * leases.size);
  }

  return {
    async claim(keys, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      sweep();
      return keys.map((key) => (ownerOf(key) ?? owner) === owner && hold(key, owner, ms));
    },
    async renew(keys, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      return keys.map((key) => ownerOf(key) === owner && hold(key, owner, ms));
    },
    async release(keys, owner) {
      for (const key of keys) if (ownerOf(key) === owner) leases.delete(key);
    },
  };
}
