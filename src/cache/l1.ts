/** Finished bodies in this process, bounded by bytes, least recently used out first. */
import { LRUCache } from 'lru-cache';

export type L1<T extends { readonly bytes: number }> = ReturnType<typeof createL1<T>>;

/** What an entry takes beside its body, measured: key, members, list links. */
const OVERHEAD_BYTES = 1024;

export function createL1<T extends { readonly bytes: number }>(maxBytes: number) {
  const cache = new LRUCache<string, T>({
    maxSize: maxBytes,
    // One body may take a quarter at most, or a single large report would push out everything else.
    maxEntrySize: Math.floor(maxBytes / 4),
    sizeCalculation: (value) => value.bytes + OVERHEAD_BYTES,
  });
  return {
    get: (key: string) => cache.get(key),
    set: (key: string, value: T) => void cache.set(key, value),
    delete: (key: string) => void cache.delete(key),
    get bytes() {
      return cache.calculatedSize;
    },
    get entries() {
      return cache.size;
    },
  };
}
