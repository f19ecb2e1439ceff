/** Leases, token buckets and presence of a gateway that is one process: they end with it. */
import type { Clock } from '../../lib/clock.js';
import { byId, wholeMs } from '../check-input.js';
import type { Bus, Leases, Presence, Quotas } from '../port.js';
import { checkGive, checkTake, describeGrant, leftIn, type QuotaBucket, refilled } from '../quota-bucket.js';
import { createLapsingMap } from './lapsing.js';

export function createMemoryLeases(
  clock: Clock,
  publish: Bus['publish'] = async () => {},
  owners = createLapsingMap<string>(clock),
): Leases {
  /** Holds what `owner` has, and what nobody has if `free`. */
  function hold(keys: readonly string[], owner: string, leaseMs: number, free: boolean): boolean[] {
    const ms = wholeMs(leaseMs, 1);
    return keys.map((key) => {
      const holder = owners.get(key) ?? (free ? owner : null);
      if (holder === owner) owners.set(key, owner, ms);
      return holder === owner;
    });
  }
  return {
    claim: async (keys, owner, leaseMs) => hold(keys, owner, leaseMs, true),
    renew: async (keys, owner, leaseMs) => hold(keys, owner, leaseMs, false),
    async release(keys, owner, news) {
      for (const key of keys) if (owners.get(key) === owner) owners.delete(key);
      if (news !== undefined && keys.length > 0) await publish(news.channel, news.message);
    },
  };
}

export function createMemoryQuotas(clock: Clock, buckets = createLapsingMap<QuotaBucket>(clock)): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const ttlMs = wholeMs(take.ttlMs, 1);
      const bucket = refilled(buckets.get(key) ?? null, take);
      const granted = Math.min(take.want, leftIn(bucket, take.capacity));
      const next = { ...bucket, used: bucket.used + granted };
      if (take.want > 0) buckets.set(key, next, ttlMs);
      return describeGrant(next, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const bucket = buckets.get(key);
      if (bucket === undefined) return leftIn({ used: 0 }, capacity);
      const next = { ...bucket, used: Math.max(0, bucket.used - count) };
      buckets.replace(key, next);
      return leftIn(next, capacity);
    },
  };
}

export function createMemoryPresence(clock: Clock, present = createLapsingMap<string>(clock)): Presence {
  return {
    beat: async (id, info, ttlMs) => present.set(id, info, wholeMs(ttlMs, 1)),
    leave: async (id) => present.delete(id),
    list: async () =>
      present
        .entries()
        .map(([id, info]) => ({ id, info }))
        .sort(byId),
  };
}
