import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { turn } from '../../lib/time.js';
import { type KnownFacts, STAMP_BYTES } from '../entry-stamp.js';
import type { CacheEntry, CachePlace } from '../port.js';
import {
  decodeEntryRecord,
  decodeFactsRecord,
  encodeEnd,
  endKey,
  entryKey,
  factsKey,
  PIECE,
} from './cache-records.js';
import {
  type Environment,
  RecordDamaged,
  type RecordWrite,
  type StoredRecord,
  type View,
} from './environment.js';

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

interface ReadOptions {
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

/**
 * Bodies of large entries, in pieces: so that none is copied, summed or read in one go while hits wait, and an entry is
 * judged, replaced or removed without a look at its body.
 *
 * Pieces are written before the entry that names them, under a name that is used once, and never changed: whoever reads
 * them over several turns reads one body, or finds that it is gone. Pieces that no entry names, as after a crash, go
 * when their entry would have ended.
 */

/** A larger body lies beside its entry. */
export const LARGE_BODY_BYTES = 65_536;
const PIECE_BYTES = 262_144;
/** So many are copied and summed up in about a millisecond. */
const AT_ONCE = 2;

const RANDOM_BYTES = 8;
const COUNT_BYTES = 2;

/** @returns the name of the body, which is in the store then */
export async function writeBody(
  environment: Pick<Environment, 'write'>,
  body: Buffer,
  endsAtMs: number,
): Promise<Buffer> {
  const count = Math.ceil(body.length / PIECE_BYTES);
  const name = Buffer.alloc(RANDOM_BYTES + COUNT_BYTES);
  randomBuffer(RANDOM_BYTES).copy(name);
  name.writeUInt16BE(count, RANDOM_BYTES);
  const pieces = pieceKeys(name).map((key, at) => ({
    key,
    value: body.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES),
  }));
  // The end first: what a crash leaves is found by it.
  const end = { key: bodyEndKey(name, endsAtMs), value: encodeEnd(firstPart(name), body.length) };
  await environment.write(null, [end]);
  for (let at = 0; at < count; at += AT_ONCE) await environment.write(null, pieces.slice(at, at + AT_ONCE));
  return name;
}

/** @returns the body in shared memory, for other threads to read; null when a piece is gone */
export async function readBody(
  environment: Pick<Environment, 'read'>,
  name: Buffer,
  bytes: number,
): Promise<Buffer | 'damaged' | null> {
  const body = Buffer.from(new SharedArrayBuffer(bytes));
  let end = 0;
  for (const [at, key] of pieceKeys(name).entries()) {
    // Before the first as well: who reads many entries reads them one after the other.
    if (at % AT_ONCE === 0) await turn();
    const held = environment.read((view) => getHeld(view, key));
    if (held === null) return null;
    if (held === 'damaged') return 'damaged';
    end += held.value.copy(body, end);
  }
  return end === bytes ? body : 'damaged';
}

export function hasBody(view: View, name: Buffer): boolean {
  return pieceKeys(name).every((key) => view.has(key));
}

export function removalsOfBody(name: Buffer, endsAtMs: number): RecordWrite[] {
  return [bodyEndKey(name, endsAtMs), ...pieceKeys(name)].map((key) => ({ key, value: null }));
}

/** @param of what the index says that ends. @returns the name of a body; null for what is none */
export function bodyNameOf(of: Buffer): Buffer | null {
  return of[0] === PIECE[0] ? of.subarray(PIECE.length) : null;
}

function bodyEndKey(name: Buffer, endsAtMs: number): Buffer {
  return endKey(endsAtMs, firstPart(name));
}

/** What the keys of all pieces begin with. */
function firstPart(name: Buffer): Buffer {
  return Buffer.concat([PIECE, name]);
}

function pieceKeys(name: Buffer): Buffer[] {
  const count = name.readUInt16BE(RANDOM_BYTES);
  return Array.from({ length: count }, (_, at) =>
    Buffer.concat([firstPart(name), Buffer.of(at >> 8, at & 0xff)]),
  );
}
