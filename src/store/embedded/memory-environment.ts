/**
 * Records in the memory of a process that shares them with no other: what is emptied at each start needs no disk, and a
 * transaction there costs as much as all the rest of taking a lease.
 */
import type { Environment, RangeOptions, StoredRecord, View } from './environment.js';

export type VolatileEnvironment = Pick<
  Environment,
  'read' | 'write' | 'health' | 'clearDeadReaders' | 'close'
>;

export function createMemoryEnvironment(): VolatileEnvironment {
  const records = new Map<string, StoredRecord>();
  /** The keys in order; as `latin1`, texts are ordered as their bytes are. */
  const order: string[] = [];
  let latestStamp = 0;

  /** The place of the first key that is not before this one. */
  function placeOf(name: string): number {
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((order[middle] as string) < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function set(key: Buffer, value: Buffer | null): void {
    const name = nameOf(key);
    const isKnown = records.has(name);
    if (value === null) {
      if (isKnown) order.splice(placeOf(name), 1);
      records.delete(name);
      return;
    }
    if (!isKnown) order.splice(placeOf(name), 0, name);
    latestStamp += 1;
    records.set(name, { key, stamp: latestStamp, value });
  }

  const view: View = {
    get: (key) => records.get(nameOf(key)) ?? null,
    has: (key) => records.has(nameOf(key)),
    range({ from, to, limit = Number.POSITIVE_INFINITY, reverse = false }: RangeOptions) {
      const names = order.slice(placeOf(nameOf(from)), placeOf(nameOf(to)));
      if (reverse) names.reverse();
      return names.slice(0, limit).map((name) => records.get(name) as StoredRecord);
    },
  };

  return {
    read: (use) => use(view),
    async write(condition, writes) {
      if (condition !== null && (view.get(condition.key)?.stamp ?? 0) !== condition.stamp) return false;
      for (const { key, value } of writes) set(key, value);
      return true;
    },
    health: () => ({ ok: true }),
    clearDeadReaders() {},
    close: async () => {},
  };
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}
