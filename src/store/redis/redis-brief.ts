/** What lapses soon: leases, presence and quotas. */
import { wholeMs } from '../check-input.js';
import type { Leases, Presence, Quotas } from '../port.js';
import { byId } from '../present.js';
import { checkGive, checkTake, describeGrant, leftIn } from '../quota-bucket.js';
import { unwrap } from './failure.js';
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

/** A key for each, a set of their ids, to find them by, and the ends of both; see data-scripts.ts. */
export function createRedisPresence(link: Link, { presence: { ends, ids } }: Keys): Presence {
  const keyOf = (id: string) => `${ids}:${id}`;
  return {
    async beat(id, info, ttlMs) {
      const ms = wholeMs(ttlMs, 1);
      await link.call((client) => client.dgwBeat(ends, ids, keyOf(id), id, info, ms));
    },
    async leave(id) {
      await link.call(async (client) =>
        unwrap(await client.pipeline().del(keyOf(id)).srem(ids, id).zrem(ends, keyOf(id)).exec()),
      );
    },
    async list() {
      const flat = await link.call((client) => client.dgwPresent(ends, ids));
      const present = flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, info: flat[at + 1] ?? '' }] : []));
      return present.sort(byId);
    },
  };
}

/** Token buckets as hashes that do not expire by themselves; see data-scripts.ts. */
export function createRedisQuotas(link: Link, { quotas: { ends, bucket } }: Keys): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const { want, capacity, refillPerMs, nowMs } = take;
      const ttlMs = wholeMs(take.ttlMs, 1);
      const [granted, used, atMs] = await link.call((client) =>
        client.dgwTake(ends, bucket(key), want, capacity, refillPerMs, nowMs, ttlMs),
      );
      return describeGrant({ used: Number(used), atMs: Number(atMs) }, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const used = await link.call((client) => client.dgwGive(ends, bucket(key), count));
      return leftIn({ used: Number(used ?? 0) }, capacity);
    },
  };
}
