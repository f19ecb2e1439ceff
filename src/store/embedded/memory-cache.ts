import { LRUCache } from 'lru-cache';
import type { Clock } from '../../clock.js';
import type { CacheStore } from '../port.js';
import { wholeMs } from '../whole-ms.js';

interface Entry {
  readonly value: Buffer;
  readonly expiresAtMs: number;
}

/** What an entry costs beside its key and value: the objects that hold it, about. */
const ENTRY_BYTES = 200;

/**
 * Cache entries in this process, at most `maxBytes` of them; the least recently used go first. The clock may be
 * moved, and entries expire by it. Values handed out are shared and must not be written to.
 */
export function createMemoryCache(maxBytes: number, clock: Clock): CacheStore {
  const entries = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ value }, key) => value.length + 2 * key.length + ENTRY_BYTES,
  });

  function read(key: string): Buffer | null {
    const entry = entries.get(key);
    if (entry === undefined) return null;
    if (clock.now() < entry.expiresAtMs) return entry.value;
    entries.delete(key);
    return null;
  }

  return {
    async getMany(keys) {
      return keys.map(read);
    },
    async setMany(writes) {
      const lifetimes = writes.map(({ ttlMs }) => wholeMs(ttlMs));
      for (const [at, { key, value }] of writes.entries()) {
        const expiresAtMs = clock.now() + (lifetimes[at] ?? 0);
        // Copied: a slice would keep alive all of the buffer that it was cut from.
        entries.set(key, { value: Buffer.from(value), expiresAtMs });
      }
    },
    async remove(keys) {
      for (const key of keys) entries.delete(key);
    },
  };
}
