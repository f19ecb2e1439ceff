import type { Clock } from '../../lib/clock.js';
import { createKnownFacts, LATEST_MS, replaces, type StampedWrite, stampWrite } from '../entry-stamp.js';
import { type CacheEntry, type CachePlace, type CacheStore, StoreUnavailable } from '../port.js';
import {
  decodeEntryRecord,
  decodeFactsRecord,
  type EntryRecord,
  encodeEnd,
  encodeFactsRecord,
  endKey,
  entryKey,
  factsKey,
  frontOfBody,
  frontOfBodyName,
} from './cache-records.js';
import type { Environment, RecordWrite, View } from './environment.js';
import {
  DAMAGED,
  getHeld,
  type Held,
  hasBody,
  LARGE_BODY_BYTES,
  type LargeEntry,
  readBody,
  readEntries,
  readEntry,
  removalsOfBody,
  writeBody,
} from './read-entries.js';

type UsedEnvironment = Pick<Environment, 'read' | 'write'>;

export interface LmdbCacheOptions {
  readonly environment: UsedEnvironment;
  readonly clock: Clock;
  /** Asked before anything is kept. */
  readonly hasRoom: () => boolean;
  /** Told of bytes that were written. */
  readonly onWritten: (bytes: number) => void;
}

/** Ends of facts are so far behind those of the entries that they are seldom written anew. */
const FACTS_STEP_MS = 86_400_000;

/**
 * Cache entries on the disk. Reading waits for nobody; writing is done by lmdb's own thread, each entry only if it is
 * still the one that was looked at.
 */
export function createLmdbCache({ environment, clock, hasRoom, onWritten }: LmdbCacheOptions): CacheStore {
  const known = createKnownFacts();

  /** Whether what is there stays. One that cannot be read, for want of facts or of its body, does not. */
  function stays(view: View, held: Held, { write, stamp }: StampedWrite): boolean {
    const present = recordOf(held);
    if (present === null || replaces(stamp.version, present.stamp.version)) return false;
    const entry = readEntry(view, write, held, { clock, known });
    return entry !== null && (!('bodyName' in entry) || hasBody(view, entry.bodyName));
  }

  /** Loops while others write the same entry: each time one of them has been the first. */
  async function writeOne(entry: StampedWrite): Promise<void> {
    const { write, stamp, ttlMs } = entry;
    const key = entryKey(write);
    const isLarge = ttlMs >= 1 && write.body.length > LARGE_BODY_BYTES;
    let bodyName: Buffer | null = null;
    for (;;) {
      const [held, isToStay] = environment.read((view): [Held, boolean] => {
        const found = getHeld(view, key);
        return [found, stays(view, found, entry)];
      });
      if (isToStay) {
        if (bodyName !== null) await environment.write(null, removalsOfBody(bodyName, stamp.endsAtMs));
        return;
      }
      if (isLarge && bodyName === null) {
        bodyName = await writeBody(environment, write.body, stamp.endsAtMs);
        continue;
      }
      const writes = [...withoutEnd(recordOf(held), key), ...writesOf(key, entry, bodyName)];
      if (await writeIfStill(environment, held, key, writes)) return;
    }
  }

  return {
    async read(places, after) {
      await after?.catch(() => {});
      const entries = environment.read((view) => readEntries(view, places, { clock, known }));
      const whole: (CacheEntry | null)[] = [];
      for (const entry of entries) whole.push(await withBody(environment, entry));
      return whole;
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
      await Promise.all(places.map((place) => removeOne(environment, place)));
    },
  };
}

async function removeOne(environment: UsedEnvironment, place: CachePlace): Promise<void> {
  const key = entryKey(place);
  for (;;) {
    const held = environment.read((view) => getHeld(view, key));
    if (held === null) return;
    const writes = [...withoutEnd(recordOf(held), key), { key, value: null }];
    if (await writeIfStill(environment, held, key, writes)) return;
  }
}

async function withBody(
  environment: UsedEnvironment,
  entry: CacheEntry | LargeEntry | null,
): Promise<CacheEntry | null> {
  if (entry === null || !('bodyName' in entry)) return entry;
  const { bodyName, bodyBytes, ...rest } = entry;
  const body = await readBody(environment, bodyName, bodyBytes);
  if (body === 'damaged') return DAMAGED;
  return body === null ? null : { ...rest, body };
}

function recordOf(held: Held): EntryRecord | null {
  return held === null || held === 'damaged' ? null : decodeEntryRecord(held.value);
}

/** What is there of it beside its own record. */
function withoutEnd(record: EntryRecord | null, key: Buffer): RecordWrite[] {
  if (record === null) return [];
  const { endsAtMs } = record.stamp;
  const body = record.isLarge ? removalsOfBody(record.body, endsAtMs) : [];
  return [{ key: endKey(endsAtMs, key), value: null }, ...body];
}

function writesOf(
  key: Buffer,
  { write, stamp: { endsAtMs }, head, ttlMs }: StampedWrite,
  bodyName: Buffer | null,
): RecordWrite[] {
  if (ttlMs < 1) return [{ key, value: null }];
  if (bodyName === null) return withEnd({ key, value: write.body, front: frontOfBody(head) }, endsAtMs);
  return withEnd({ key, value: bodyName, front: frontOfBodyName(head) }, endsAtMs);
}

function withEnd(write: RecordWrite & { readonly value: Buffer }, endsAtMs: number): RecordWrite[] {
  const { key, value, front } = write;
  return [write, { key: endKey(endsAtMs, key), value: encodeEnd(key, value.length + (front?.length ?? 0)) }];
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
    return [
      ...(before === null ? [] : [{ key: endKey(before, key), value: null }]),
      ...withEnd({ key, value: encodeFactsRecord(later, facts) }, later),
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
