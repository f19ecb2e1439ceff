import type { Clock } from '../../clock.js';
import { LATEST_MS, replaces, type StampedWrite, stampWrite } from '../entry-stamp.js';
import { createKnownFacts } from '../known-facts.js';
import { type CachePlace, type CacheStore, StoreUnavailable } from '../port.js';
import {
  decodeEntryRecord,
  decodeFactsRecord,
  type EntryRecord,
  encodeEntryRecord,
  encodeFactsRecord,
  encodeSize,
  endKey,
  entryKey,
  factsKey,
} from './cache-records.js';
import type { Environment, RecordWrite, View } from './environment.js';
import { getHeld, type Held, readEntries, readEntry } from './read-entries.js';

export interface LmdbCacheOptions {
  readonly environment: Pick<Environment, 'read' | 'write'>;
  readonly clock: Clock;
  /** Asked before anything is kept. */
  readonly hasRoom: () => boolean;
  /** Told of bytes that were written. */
  readonly onWritten: (bytes: number) => void;
}

/** Ends of facts are so far behind those of the entries that they are seldom written anew. */
const FACTS_STEP_MS = 86_400_000;

/**
 * Cache entries on the disk, shared by the processes of one gateway. Reading waits for nobody; writing is done by
 * lmdb's own thread, each entry only if it is still the one that was looked at.
 */
export function createLmdbCache({ environment, clock, hasRoom, onWritten }: LmdbCacheOptions): CacheStore {
  const known = createKnownFacts();

  /** Loops while others write the same entry: each time one of them has been the first. */
  async function writeOne({ write, stamp, head, ttlMs }: StampedWrite): Promise<void> {
    const key = entryKey(write);
    for (;;) {
      const [held, isWhole] = environment.read((view): [Held, boolean] => {
        const found = getHeld(view, key);
        return [found, readEntry(view, write, found, { clock, known }) !== null];
      });
      const present = recordOf(held);
      if (present !== null && isWhole && !replaces(stamp.version, present.stamp.version)) return;
      const value = encodeEntryRecord(head, write.body);
      const writes: RecordWrite[] = [...withoutEnd(present, key)];
      if (ttlMs >= 1) {
        writes.push({ key, value }, { key: endKey(stamp.endsAtMs, key), value: encodeSize(key, value) });
      } else writes.push({ key, value: null });
      if (await writeIfStill(environment, held, key, writes)) return;
    }
  }

  async function removeOne(place: CachePlace): Promise<void> {
    const key = entryKey(place);
    for (;;) {
      const held = environment.read((view) => getHeld(view, key));
      if (held === null) return;
      const writes = [...withoutEnd(recordOf(held), key), { key, value: null }];
      if (await writeIfStill(environment, held, key, writes)) return;
    }
  }

  return {
    async read(places) {
      return environment.read((view) => readEntries(view, places, { clock, known }));
    },
    async write(entries) {
      const nowMs = clock.now();
      const writes = entries.map((write) => stampWrite(write, nowMs));
      if (writes.length === 0) return;
      if (!hasRoom())
        throw new StoreUnavailable('the disk is almost full: nothing more is cached', 'no-room');
      const facts = environment.read((view) => missingFacts(view, writes));
      // In this order: whoever finds an entry finds its facts.
      const before = facts.length === 0 ? null : environment.write(null, facts);
      await Promise.all([before, ...writes.map(writeOne)]);
      for (const { stamp, write } of writes) known.add(stamp.facts, write.facts);
      onWritten(writes.reduce((sum, { head, write }) => sum + head.length + write.body.length, 0));
    },
    async remove(places) {
      await Promise.all(places.map(removeOne));
    },
  };
}

function recordOf(held: Held): EntryRecord | null {
  return held === null || held === 'damaged' ? null : decodeEntryRecord(held.value);
}

function withoutEnd(record: EntryRecord | null, key: Buffer): RecordWrite[] {
  return record === null ? [] : [{ key: endKey(record.stamp.endsAtMs, key), value: null }];
}

/** Facts of these entries that are not there, or end too early. */
function missingFacts(view: View, entries: readonly StampedWrite[]): RecordWrite[] {
  const ends = new Map<string, { readonly key: Buffer; readonly facts: Buffer; endsAtMs: number }>();
  for (const { write, stamp, ttlMs } of entries) {
    if (ttlMs < 1) continue;
    const key = factsKey(write.series, stamp.facts);
    const id = key.toString('latin1');
    const endsAtMs = Math.max(stamp.endsAtMs, ends.get(id)?.endsAtMs ?? 0);
    ends.set(id, { key, facts: write.facts, endsAtMs });
  }
  return [...ends.values()].flatMap(({ key, facts, endsAtMs }) => {
    const held = getHeld(view, key);
    const before = held === null || held === 'damaged' ? null : decodeFactsRecord(held.value).endsAtMs;
    if (before !== null && before >= endsAtMs) return [];
    const later = Math.min(Math.ceil(endsAtMs / FACTS_STEP_MS + 1) * FACTS_STEP_MS, LATEST_MS);
    const value = encodeFactsRecord(later, facts);
    return [
      ...(before === null ? [] : [{ key: endKey(before, key), value: null }]),
      { key, value },
      { key: endKey(later, key), value: encodeSize(key, value) },
    ];
  });
}

function writeIfStill(
  environment: Pick<Environment, 'write'>,
  held: Held,
  key: Buffer,
  writes: readonly RecordWrite[],
): Promise<boolean> {
  if (held === 'damaged') return environment.write(null, writes);
  return environment.write({ key, stamp: held?.stamp ?? 0 }, writes);
}
