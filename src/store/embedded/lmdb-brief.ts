/** Leases, token buckets and presence as records that end, in the environment that is emptied at the start. */
import Type from 'typebox';
import { wholeMs } from '../check-input.js';
import type { Bus, Leases, Presence, Quotas } from '../port.js';
import { byId } from '../present.js';
import { checkGive, checkTake, describeGrant, leftIn, refilled } from '../quota-bucket.js';
import { createLapsingTable, type LapsingRecords } from './lapsing.js';

export function createLmdbLeases(lapsing: LapsingRecords, bus: Pick<Bus, 'publish'>): Leases {
  const owners = createLapsingTable(lapsing, 'l', Type.String());

  /** Holds what `owner` has, and, if `free`, what nobody has. */
  async function hold(keys: readonly string[], owner: string, leaseMs: number, free: boolean) {
    const ms = wholeMs(leaseMs, 1);
    const one = (key: string) =>
      owners.change(key, (found) => {
        if (found === null ? !free : found.value !== owner) return { result: false };
        return { result: true, write: owners.lasting(owner, ms) };
      });
    return await Promise.all(keys.map(one));
  }

  return {
    claim: (keys, owner, leaseMs) => hold(keys, owner, leaseMs, true),
    renew: (keys, owner, leaseMs) => hold(keys, owner, leaseMs, false),
    async release(keys, owner, news) {
      const one = (key: string) =>
        owners.change(key, (found) => ({
          result: undefined,
          ...(found?.value === owner ? { write: null } : {}),
        }));
      await Promise.all(keys.map(one));
      if (news !== undefined && keys.length > 0) await bus.publish(news.channel, news.message);
    },
  };
}

export function createLmdbQuotas(lapsing: LapsingRecords): Quotas {
  const form = Type.Object({ used: Type.Number(), atMs: Type.Number() });
  const buckets = createLapsingTable(lapsing, 'q', form);
  return {
    async take(key, take) {
      checkTake(take);
      const ttlMs = wholeMs(take.ttlMs, 1);
      return await buckets.change(key, (found) => {
        const bucket = refilled(found?.value ?? null, take);
        const granted = Math.min(take.want, leftIn(bucket, take.capacity));
        const next = { ...bucket, used: bucket.used + granted };
        const result = describeGrant(next, granted, take);
        return take.want === 0 ? { result } : { result, write: buckets.lasting(next, ttlMs) };
      });
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      return await buckets.change(key, (found) => {
        if (found === null) return { result: leftIn({ used: 0 }, capacity) };
        const next = { ...found.value, used: Math.max(0, found.value.used - count) };
        return { result: leftIn(next, capacity), write: { ...found, value: next } };
      });
    },
  };
}

export function createLmdbPresence(lapsing: LapsingRecords): Presence {
  const form = Type.Object({ id: Type.String(), info: Type.String() });
  const here = createLapsingTable(lapsing, 'p', form);
  return {
    async beat(id, info, ttlMs) {
      const ms = wholeMs(ttlMs, 1);
      await here.change(id, () => ({ result: undefined, write: here.lasting({ id, info }, ms) }));
    },
    leave: (id) =>
      here.change(id, (found) => ({ result: undefined, ...(found === null ? {} : { write: null }) })),
    list: async () => here.list().sort(byId),
  };
}
