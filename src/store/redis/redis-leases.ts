import type { Leases } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** Leases as keys that hold their owner's name and expire by the server's own clock. */
export function createRedisLeases(link: Link, keys: Keys): Leases {
  return {
    async claim(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      const held = await link.call((client) =>
        client.dgwClaim(names.length, ...names.map(keys.lease), owner, ms),
      );
      return held.map((one) => one === 1);
    },
    async renew(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      const held = await link.call((client) =>
        client.dgwRenew(names.length, ...names.map(keys.lease), owner, ms),
      );
      return held.map((one) => one === 1);
    },
    async release(names, owner) {
      if (names.length === 0) return;
      await link.call((client) => client.dgwRelease(names.length, ...names.map(keys.lease), owner));
    },
  };
}
