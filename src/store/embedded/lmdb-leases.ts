import Type from 'typebox';
import type { Leases } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { nameKey } from './keys.js';
import type { Lapsing, LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const LEASES = 'l';

/** Leases as records that end. */
export function createLmdbLeases(lapsing: LapsingRecords): Leases {
  const ownerOf = (found: Lapsing | null) => (found === null ? null : fromBytes(Type.String(), found.value));

  /** Holds what `owner` has, and, if `free`, what nobody has. */
  async function hold(keys: readonly string[], owner: string, leaseMs: number, free: boolean) {
    const ms = wholeMs(leaseMs, 1);
    const one = (key: string) =>
      lapsing.change(nameKey(LEASES, key), (found) => {
        const holder = ownerOf(found);
        if (holder !== owner && !(free && holder === null)) return { result: false };
        return { result: true, write: { value: toBytes(owner), endsAtMs: lapsing.now() + ms } };
      });
    return await Promise.all(keys.map(one));
  }

  return {
    claim: (keys, owner, leaseMs) => hold(keys, owner, leaseMs, true),
    renew: (keys, owner, leaseMs) => hold(keys, owner, leaseMs, false),
    async release(keys, owner) {
      const one = (key: string) =>
        lapsing.change(nameKey(LEASES, key), (found) =>
          ownerOf(found) === owner ? { result: undefined, write: null } : { result: undefined },
        );
      await Promise.all(keys.map(one));
    },
  };
}
