import { LRUCache } from 'lru-cache';
import type { Clock } from '../../clock.js';
import { replaces, wholeVersion } from '../entry-version.js';
import type { CacheStore } from '../port.js';
import { wholeMs } from '../whole-ms.js';

interface Entry {
  readonly value: Buffer;
  readonly expiresAtMs: number;
  readonly version: number;
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

  function live(entry: Entry | undefined): Entry | null {
    return entry !== undefined && clock.now() < entry.expiresAtMs ? entry : null;
  }

  function read(key: string): Buffer | null {
    const entry = live(entries.get(key));
    if (entry === null) entries.delete(key);
    return entry === null ? null : entry.value;
  }

  function write(key: string, value: Buffer, ttlMs: number, version: number): void {
    const present = live(entries.peek(key));
    if (present !== null && !replaces(version, present.version)) return;
    entries.set(key, { value: owned(value), expiresAtMs: clock.now() + ttlMs, version });
  }

  return {
    async getMany(keys) {
      return keys.map(read);
    },
    async setMany(writes) {
      const checked = writes.map(({ ttlMs, version }) => [wholeMs(ttlMs), wholeVersion(version)] as const);
      for (const [at, { key, value }] of writes.entries()) {
        const [ttlMs, version] = checked[at] as (typeof checked)[0];
        write(key, value, ttlMs, version);
      }
    },
    async remove(keys) {
      for (const key of keys) entries.delete(key);
    },
  };
}

/** A slice is copied: it would keep alive all of the memory that it was cut from. */
function owned(value: Buffer): Buffer {
  return value.buffer.byteLength === value.length ? value : Buffer.from(value);
}
