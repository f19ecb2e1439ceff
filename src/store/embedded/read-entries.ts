import type { Clock } from '../../clock.js';
import { STAMP_BYTES } from '../entry-stamp.js';
import type { KnownFacts } from '../known-facts.js';
import type { CacheEntry, CachePlace } from '../port.js';
import { decodeEntryRecord, decodeFactsRecord, entryKey, factsKey } from './cache-records.js';
import { RecordDamaged, type StoredRecord, type View } from './environment.js';

/** From so many places on they are read by one walk over all that lies between the first and the last of them. */
const WALK_FROM = 8;
/** Such a walk reads no more than so many times what was asked for; what is further on is read by its key. */
const WALK_MOST = 2;
/** What is there of a record: null for none; damaged ones have no stamp that could be relied on. */
export type Held = StoredRecord | 'damaged' | null;

/** What the reader of an entry takes for damaged, and counts. */
export const DAMAGED: CacheEntry = {
  version: 0,
  header: Buffer.alloc(0),
  body: Buffer.alloc(0),
  facts: Buffer.alloc(0),
};

/** An entry whose body lies beside it. */
export interface LargeEntry extends Omit<CacheEntry, 'body'> {
  readonly bodyName: Buffer;
  readonly bodyBytes: number;
}

export interface ReadOptions {
  readonly clock: Clock;
  readonly known: KnownFacts;
}

/** @returns the entries in the order of `places` */
export function readEntries(
  view: View,
  places: readonly CachePlace[],
  options: ReadOptions,
): (CacheEntry | LargeEntry | null)[] {
  const find = places.length < WALK_FROM ? finder(view) : walk(view, places);
  return places.map((place) => readEntry(view, place, find(entryKey(place)), options));
}

/** @returns null for what is over, or lacks its facts */
export function readEntry(
  view: View,
  place: CachePlace,
  held: Held,
  { clock, known }: ReadOptions,
): CacheEntry | LargeEntry | null {
  if (held === 'damaged') return DAMAGED;
  const record = held === null ? null : decodeEntryRecord(held.value);
  if (record === null || record.stamp.endsAtMs <= clock.now()) return null;
  const { stamp, head, body, isLarge } = record;
  const facts = known.get(stamp.facts) ?? readFacts(view, place.series, stamp.facts, known);
  if (facts === null) return null;
  const entry = { version: stamp.version, header: head.subarray(STAMP_BYTES), facts };
  return isLarge ? { ...entry, bodyName: body, bodyBytes: stamp.bodyBytes } : { ...entry, body };
}

function readFacts(view: View, series: string, digest: string, known: KnownFacts): Buffer | null {
  const held = getHeld(view, factsKey(series, digest));
  if (held === null || held === 'damaged') return null;
  return known.add(digest, decodeFactsRecord(held.value).facts);
}

export function getHeld(view: View, key: Buffer): Held {
  try {
    return view.get(key);
  } catch (error) {
    if (error instanceof RecordDamaged) return 'damaged';
    throw error;
  }
}

type Find = (key: Buffer) => Held;

function finder(view: View): Find {
  return (key) => getHeld(view, key);
}

/** One walk over the keys from the first place to the last. */
function walk(view: View, places: readonly CachePlace[]): Find {
  const keys = places.map(entryKey).sort(Buffer.compare);
  const [first, last] = [keys[0] as Buffer, keys.at(-1) as Buffer];
  const limit = WALK_MOST * places.length;
  const damaged: Buffer[] = [];
  const records = view.range({ from: first, to: Buffer.concat([last, Buffer.of(0)]), limit }, ({ key }) =>
    damaged.push(key),
  );
  const found = new Map<string, Held>(records.map((record) => [record.key.toString('latin1'), record]));
  for (const key of damaged) found.set(key.toString('latin1'), 'damaged');
  const end = found.size < limit ? last : (records.at(-1)?.key ?? first);
  return (key) => {
    if (Buffer.compare(key, end) > 0) return getHeld(view, key);
    return found.get(key.toString('latin1')) ?? null;
  };
}
