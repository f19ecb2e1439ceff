import type { Clock } from '../../../src/lib/clock.js';
import { wholeMs, wholeVersion } from '../../../src/store/check-input.js';
import { type CacheEntry, type CacheStore, replaces } from '../../../src/store/port.js';
import type { SavedMap } from './saved-map.js';

export interface MemoryEntry extends CacheEntry {
  readonly endsAtMs: number;
}

/** Cache entries within this process: they end by the writer's clock, and the newer content wins. */
export function createMemoryCache(clock: Clock, entries: SavedMap<MemoryEntry>): CacheStore {
  const alive = (id: string) => {
    const entry = entries.get(id);
    return entry !== undefined && clock.now() < entry.endsAtMs ? entry : null;
  };

  return {
    async read(ids, after) {
      await after?.catch(() => {});
      return ids.map((id) => {
        const entry = alive(id);
        return entry && { version: entry.version, bytes: entry.bytes };
      });
    },
    async write(writes) {
      const checked = writes.map(({ id, version, bytes, ttlMs, atMs = version }) => ({
        id,
        version: wholeVersion(version),
        bytes: Buffer.from(bytes),
        ttlMs: wholeMs(ttlMs),
        atMs,
      }));
      for (const { id, version, bytes, ttlMs, atMs } of checked) {
        const present = alive(id);
        if (present !== null && !replaces(version, present.version, atMs)) continue;
        if (ttlMs < 1) entries.delete(id);
        else entries.set(id, { version, bytes, endsAtMs: Math.floor(clock.now()) + ttlMs });
      }
    },
  };
}
