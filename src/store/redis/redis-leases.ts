import { wholeMs } from '../check-input.js';
import type { Leases } from '../port.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** Leases as keys that hold their owner's name and expire by the server's own clock. */
export function createRedisLeases(link: Link, keys: Keys): Leases {
  const hold =
    (script: 'dgwClaim' | 'dgwRenew'): Leases['claim'] =>
    async (names, owner, leaseMs) => {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      const held = await link.call((client) =>
        client[script](names.length, ...names.map(keys.lease), owner, ms),
      );
      return held.map((one) => one === 1);
    };
  return {
    claim: hold('dgwClaim'),
    renew: hold('dgwRenew'),
    async release(names, owner) {
      if (names.length === 0) return;
      await link.call((client) => client.dgwRelease(names.length, ...names.map(keys.lease), owner));
    },
  };
}
