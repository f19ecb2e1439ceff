import { wholeMs } from '../check-input.js';
import type { Leases } from '../port.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { CLAIM } from './scripts.js';

/** Leases as keys that hold their owner's name and expire by the server's own clock. */
export function createRedisLeases(link: Link, keys: Keys): Leases {
  return {
    async claim(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      return heldOf(
        await link.call((client) => client.eval(CLAIM, names.length, ...names.map(keys.lease), owner, ms)),
      );
    },
    async renew(names, owner, leaseMs) {
      const ms = wholeMs(leaseMs, 1);
      if (names.length === 0) return [];
      return heldOf(
        await link.call((client) => client.dgwRenew(names.length, ...names.map(keys.lease), owner, ms)),
      );
    },
    async release(names, owner, news) {
      if (names.length === 0) return;
      const told = news === undefined ? [] : [keys.channel(news.channel), news.message];
      await link.call((client) => client.dgwRelease(names.length, ...names.map(keys.lease), owner, ...told));
    },
  };
}

function heldOf(reply: unknown): boolean[] {
  return (reply as readonly number[]).map((one) => one === 1);
}
