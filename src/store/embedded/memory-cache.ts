import { LRUCache } from 'lru-cache';
import type { Clock } from '../../clock.js';
import { type StampedWrite, stampWrite } from '../entry-stamp.js';
import { replaces } from '../entry-version.js';
import { createKnownFacts } from '../known-facts.js';
import type { CacheEntry, CachePlace, CacheStore } from '../port.js';

interface Kept {
  readonly entry: CacheEntry;
  readonly endsAtMs: number;
}

/** What an entry costs beside its place and its bytes: the objects that hold it, about. */
const ENTRY_BYTES = 200;

/**
 * Cache entries in this process, at most `maxBytes` of them; the least recently used go first. The clock may be
 * moved, and entries expire by it. Buffers handed out are shared and must not be written to.
 */
export function createMemoryCache(maxBytes: number, clock: Clock): CacheStore {
  const entries = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: ({ entry: { header, body, facts } }, id) =>
      header.length + body.length + facts.length + 2 * id.length + ENTRY_BYTES,
  });

  const known = createKnownFacts();

  function live(entry: Kept | undefined): Kept | null {
    return entry !== undefined && clock.now() < entry.endsAtMs ? entry : null;
  }

  function read(place: CachePlace): CacheEntry | null {
    const id = idOf(place);
    const kept = live(entries.get(id));
    if (kept !== null) return kept.entry;
    entries.delete(id);
    return null;
  }

  function write({ write, stamp }: StampedWrite): void {
    const id = idOf(write);
    const present = live(entries.peek(id));
    if (present !== null && !replaces(stamp.version, present.entry.version)) return;
    const facts = known.add(stamp.facts, write.facts);
    const { version, endsAtMs } = stamp;
    const entry = { version, header: owned(write.header), body: owned(write.body), facts };
    entries.set(id, { entry, endsAtMs });
  }

  return {
    async read(places) {
      return places.map(read);
    },
    async write(writes) {
      const nowMs = clock.now();
      for (const one of writes.map((write) => stampWrite(write, nowMs))) write(one);
    },
    async remove(places) {
      for (const place of places) entries.delete(idOf(place));
    },
  };
}

function idOf({ series, group, field }: CachePlace): string {
  return `${series.length}:${series}:${group.length}:${group}:${field}`;
}

/** A slice is copied: it would keep alive all of the memory that it was cut from. */
function owned(value: Buffer): Buffer {
  return value.buffer.byteLength === value.length ? value : Buffer.from(value);
}
