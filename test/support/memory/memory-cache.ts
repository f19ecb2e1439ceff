import type { Clock } from '../../../src/lib/clock.js';
import { replaces, stampWrite } from '../../../src/store/entry-stamp.js';
import type { CacheEntry, CachePlace, CacheStore } from '../../../src/store/port.js';
import type { SavedMap } from './saved-map.js';

export interface MemoryEntry extends CacheEntry {
  readonly endsAtMs: number;
}

/** Cache entries within this process: they end by the writer's clock, and the newer content wins. */
export function createMemoryCache(
  clock: Clock,
  entries: SavedMap<MemoryEntry>,
  facts: SavedMap<Buffer>,
): CacheStore {
  const nameOf = ({ series, group, field }: CachePlace) => JSON.stringify([series, group, field]);
  const alive = (name: string) => {
    const entry = entries.get(name);
    return entry !== undefined && clock.now() < entry.endsAtMs ? entry : null;
  };

  return {
    async read(places, after) {
      await after?.catch(() => {});
      return places.map((place) => {
        const entry = alive(nameOf(place));
        if (entry === null) return null;
        const { version, header, body, facts } = entry;
        return { version, header, body, facts };
      });
    },
    async write(writes) {
      const stamped = writes.map((write) => stampWrite(write, clock.now()));
      for (const { write, stamp, ttlMs } of stamped) {
        const name = nameOf(write);
        const present = alive(name);
        if (present !== null && !replaces(stamp.version, present.version)) continue;
        if (ttlMs < 1) {
          entries.delete(name);
          continue;
        }
        const { header, body } = write;
        // Kept once, so that entries with the same facts have the same buffer.
        const shared = facts.get(stamp.facts) ?? write.facts;
        facts.set(stamp.facts, shared);
        entries.set(name, {
          ...{ version: stamp.version, endsAtMs: stamp.endsAtMs },
          ...{ header: Buffer.from(header), body: Buffer.from(body), facts: shared },
        });
      }
    },
    async remove(places) {
      for (const place of places) entries.delete(nameOf(place));
    },
  };
}
