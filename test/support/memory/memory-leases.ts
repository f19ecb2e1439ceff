import type { Clock } from '../../../src/clock.js';
import { wholeMs } from '../../../src/store/check-input.js';
import type { Leases } from '../../../src/store/port.js';
import { createLapsingMap } from './lapsing-map.js';

/** Leases within this process, by time that never jumps. */
export function createMemoryLeases(clock: Clock, owners = createLapsingMap<string>(clock)): Leases {
  function hold(key: string, owner: string, leaseMs: number): true {
    owners.set(key, owner, leaseMs);
    return true;
  }

  return {
    async claim(keys, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      return keys.map((key) => (owners.get(key) ?? owner) === owner && hold(key, owner, ms));
    },
    async renew(keys, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      return keys.map((key) => owners.get(key) === owner && hold(key, owner, ms));
    },
    async release(keys, owner) {
      for (const key of keys) if (owners.get(key) === owner) owners.delete(key);
    },
  };
}
