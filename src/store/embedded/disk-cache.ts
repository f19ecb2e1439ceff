/**
 * Cache entries on the disk, in two generations. Writes go to the newer one, and an entry read from the older one is
 * promoted to the newer one. The older generation is deleted as a whole.
 */
import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { turn } from '../../lib/time.js';
import {
  createKnownFacts,
  readStamp,
  replaces,
  STAMP_BYTES,
  type Stamp,
  type StampedWrite,
  stampWrite,
} from '../entry-stamp.js';
import { type CacheEntry, type CachePlace, type CacheStore, StoreUnavailable } from '../port.js';
import { orDamaged, type Reader, type RecordWrite, type View } from './environment.js';
import type { Draft, Table } from './table.js';

// The keys:
// `e` series · group · field: an entry: length of its head (1 byte) · head · body; with a large body: 0 · length of
// its head · head · name of its body
// `f` series · digest: facts
// `p` name of a body (10 bytes) · number (2 bytes): a piece of it
// A large body is stored in pieces, so that none is copied or checked in one go while hits wait. Pieces are written
// before the entry that names them, under a name used once: a reader of several turns reads one body, or finds it
// gone.

const ENTRY = Buffer.from('e');
const FACTS = Buffer.from('f');
const PIECE = Buffer.from('p');
/** Instead of the length of a head, which is never 0. */
const LARGE = 0;

/** A larger body lies in pieces. */
const LARGE_BODY_BYTES = 65_536;
const PIECE_BYTES = 262_144;
const RANDOM_BYTES = 8;
const COUNT_BYTES = 2;

export function entryKey({ series, group, field }: CachePlace): Buffer {
  const parts = [series, group, field];
  // Usual: the same bytes in one piece of memory.
  if (parts.every((part) => !part.includes('\0'))) return Buffer.from(`e${parts.join(END)}${END}`);
  return Buffer.concat([ENTRY, ...parts.map(element)]);
}

/** @param digest hexadecimal */
function factsKey(series: string, digest: string): Buffer {
  return Buffer.concat([FACTS, element(series), Buffer.from(digest, 'hex')]);
}

/** @param bodyName name of a large body, stored instead of it */
function encodeEntryRecord(head: Buffer, body: Buffer, bodyName: Buffer | null): Buffer {
  if (bodyName !== null) return Buffer.concat([Buffer.of(LARGE, head.length), head, bodyName]);
  return Buffer.concat([Buffer.of(head.length), head, body]);
}

interface EntryRecord {
  readonly stamp: Stamp;
  readonly head: Buffer;
  /** Empty where the body lies in pieces. */
  readonly body: Buffer;
  /** The name of a body in pieces. */
  readonly bodyName: Buffer | null;
}

/** @returns null for what is no entry */
function decodeEntryRecord(value: Buffer): EntryRecord | null {
  const isLarge = value[0] === LARGE;
  const start = isLarge ? 2 : 1;
  const end = start + (value[start - 1] ?? 0);
  const head = value.subarray(start, end);
  const stamp = readStamp(head);
  if (stamp === null) return null;
  const rest = value.subarray(end);
  return isLarge
    ? { stamp, head, body: rest.subarray(0, 0), bodyName: rest }
    : { stamp, head, body: rest, bodyName: null };
}

/** @returns a name for the body, and its pieces under it */
function piecesOf(body: Buffer): { readonly name: Buffer; readonly pieces: RecordWrite[] } {
  const name = Buffer.alloc(RANDOM_BYTES + COUNT_BYTES);
  randomBuffer(RANDOM_BYTES).copy(name);
  name.writeUInt16BE(Math.ceil(body.length / PIECE_BYTES), RANDOM_BYTES);
  const pieces = pieceKeys(name).map((key, at) => ({
    key,
    value: body.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES),
  }));
  return { name, pieces };
}

function pieceKeys(name: Buffer): Buffer[] {
  const count = name.readUInt16BE(RANDOM_BYTES);
  return Array.from({ length: count }, (_, at) =>
    Buffer.concat([PIECE, name, Buffer.of(at >> 8, at & 0xff)]),
  );
}

/** Ends a part of a key. */
const END = '\0\x01';

/** A part of a key, encoded so that keys are ordered by their parts. */
function element(text: string): Buffer {
  const escaped = Buffer.from(text).toString('latin1').replaceAll('\0', '\0\xff');
  return Buffer.from(escaped + END, 'latin1');
}

/** From so many places on, one walk reads all records from the first place to the last. */
const WALK_FROM = 8;
/** A walk reads at most so many records for each place; later places are read by their keys. */
const WALK_MOST = 2;
/** Pieces copied and checked in one turn: about a millisecond. */
const PIECES_AT_ONCE = 2;
/** Entries that one change promotes. */
const PROMOTED_AT_ONCE = 16;

/** Null: there is none. */
type Held = Buffer | 'damaged' | null;

/** An entry, and the name of its body if that is in pieces. */
type Found = CacheEntry & Pick<EntryRecord, 'bodyName'> & { readonly bodyBytes: number };

const NO_BYTES = Buffer.alloc(0);
/** Returned for a damaged record: the reader of the entry detects and counts it. */
const DAMAGED: Found = {
  version: 0,
  header: NO_BYTES,
  body: NO_BYTES,
  facts: NO_BYTES,
  bodyName: null,
  bodyBytes: 0,
};

/** A place as a generation has it. */
interface Look {
  readonly place: CachePlace;
  readonly table: Table;
  readonly held: Held;
  readonly entry: Found | null;
}

/** There is no older generation before the first one is full. */
export type Generations = readonly [newer: Table, older?: Table];

interface DiskCacheOptions {
  readonly generations: () => Generations;
  readonly clock: Clock;
  /** Whether the disk takes more entries. Waits while a generation is replaced. */
  readonly hasRoom: () => Promise<boolean>;
  /** Called with the number of bytes written. */
  readonly onWritten: (bytes: number) => void;
}

/** Reads never wait for a write. */
export class DiskCache implements CacheStore {
  readonly #options: DiskCacheOptions;
  readonly #known = createKnownFacts();

  constructor(options: DiskCacheOptions) {
    this.#options = options;
  }

  /** @returns null for an entry that has expired, or lacks its facts */
  #toEntry(reader: Reader, { series }: CachePlace, held: Held): Found | null {
    if (held === 'damaged') return DAMAGED;
    const record = recordOf(held);
    if (record === null || record.stamp.endsAtMs <= this.#options.clock.now()) return null;
    const { stamp, head, body, bodyName } = record;
    const facts = this.#known.get(stamp.facts) ?? this.#readFacts(reader, series, stamp.facts);
    if (facts === null) return null;
    const { version, bodyBytes } = stamp;
    return { version, header: head.subarray(STAMP_BYTES), facts, body, bodyName, bodyBytes };
  }

  #readFacts(reader: Reader, series: string, digest: string): Buffer | null {
    const held = heldIn(reader, factsKey(series, digest));
    return held === null || held === 'damaged' ? null : this.#known.add(digest, held);
  }

  #lookIn(table: Table, places: readonly CachePlace[]): Look[] {
    if (places.length === 0) return [];
    return table.read((view) => {
      const find = places.length < WALK_FROM ? (key: Buffer) => heldIn(view, key) : walk(view, places);
      return places.map((place) => {
        const held = find(entryKey(place));
        return { place, table, held, entry: this.#toEntry(view, place, held) };
      });
    });
  }

  /** Whether the present entry wins over a write. An incomplete one does not. */
  #presentWins(reader: Reader, held: Held, { write, stamp }: StampedWrite): boolean {
    const present = recordOf(held);
    if (present === null || replaces(stamp.version, present.stamp.version)) return false;
    const entry = this.#toEntry(reader, write, held);
    return entry !== null && (entry.bodyName === null || pieceKeys(entry.bodyName).every(reader.has));
  }

  /** The same for both generations. @param held read from the newer one */
  #eitherWins(newer: Reader, key: Buffer, held: Held, [, older]: Generations, entry: StampedWrite): boolean {
    if (held !== null || older === undefined) return this.#presentWins(newer, held, entry);
    return older.read((view) => this.#presentWins(view, heldIn(view, key), entry));
  }

  /** @param bodyName name of a body whose pieces are written already */
  #setEntry(draft: Draft, both: Generations, entry: StampedWrite, bodyName: Buffer | null): void {
    const { write, stamp, head, ttlMs } = entry;
    const key = entryKey(write);
    const held = heldIn(draft, key);
    if (this.#eitherWins(draft, key, held, both, entry)) {
      removePieces(draft, bodyName);
      return;
    }
    removeEntry(draft, key, held);
    if (ttlMs < 1) return;
    setFacts(draft, factsKey(write.series, stamp.facts), write.facts);
    draft.set(key, encodeEntryRecord(head, write.body, bodyName));
  }

  async #writeLarge(both: Generations, entry: StampedWrite): Promise<void> {
    const [newer] = both;
    const key = entryKey(entry.write);
    if (newer.read((view) => this.#eitherWins(view, key, heldIn(view, key), both, entry))) return;
    const { name, pieces } = piecesOf(entry.write.body);
    await setInTurns(newer, pieces);
    await newer.change((draft) => this.#setEntry(draft, both, entry, name));
  }

  async #promote(looks: readonly Look[]): Promise<void> {
    for (let at = 0; at < looks.length; at += PROMOTED_AT_ONCE) {
      // Meanwhile a full generation may be replaced.
      if (!(await this.#options.hasRoom())) return;
      await this.#promoteTo(this.#options.generations()[0], looks.slice(at, at + PROMOTED_AT_ONCE));
    }
  }

  async #promoteTo(newer: Table, looks: readonly Look[]): Promise<void> {
    for (const { entry, table } of looks) {
      const keys = entry?.bodyName == null ? [] : pieceKeys(entry.bodyName);
      await setInTurns(
        newer,
        keys.map((key) => ({ key, value: table.read((view) => view.get(key)) })),
      );
    }
    await newer.change((draft) => {
      for (const { place, table, held, entry } of looks) {
        const [key, record] = [entryKey(place), recordOf(held)];
        if (entry === null || record === null || draft.has(key)) continue;
        // The entry may have been removed since it was read.
        if (!table.read((view) => view.has(key))) continue;
        setFacts(draft, factsKey(place.series, record.stamp.facts), entry.facts);
        draft.set(key, held as Buffer);
        this.#options.onWritten(record.stamp.bodyBytes);
      }
    });
  }

  // Own properties, as callers pass the methods on without the object.
  readonly read: CacheStore['read'] = async (places, after) => {
    await after?.catch(() => {});
    const [newer, older] = this.#options.generations();
    const looks = this.#lookIn(newer, places);
    const missing = looks.flatMap(({ place, held }) => (held === null ? [place] : []));
    const found = older === undefined ? [] : this.#lookIn(older, missing);
    const inOlder = new Map(found.map((look) => [look.place, look]));
    const whole: (CacheEntry | null)[] = [];
    for (const look of looks) {
      const { table, entry } = inOlder.get(look.place) ?? look;
      whole.push(entry && (await withBody(table, entry)));
    }
    const old = found.filter(({ entry }) => entry !== null && entry !== DAMAGED);
    // Not awaited: an entry that was not promoted is promoted at its next read.
    if (old.length > 0) void this.#promote(old).catch(() => {});
    return whole;
  };

  readonly write: CacheStore['write'] = async (entries) => {
    const nowMs = this.#options.clock.now();
    const writes = entries.map((write) => stampWrite(write, nowMs));
    if (writes.length === 0) return;
    if (!(await this.#options.hasRoom()))
      throw new StoreUnavailable('the disk is almost full: nothing more is cached', 'no-room');
    const both = this.#options.generations();
    const [newer, older] = both;
    const [large, small] = [writes.filter(isLarge), writes.filter((entry) => !isLarge(entry))];
    const removed = writes.flatMap(({ ttlMs, write }) => (ttlMs < 1 ? [write] : []));
    // First, so that none of them is promoted again.
    if (older !== undefined && removed.length > 0) await removeIn(older, removed);
    await Promise.all([
      newer.change((draft) => {
        for (const entry of small) this.#setEntry(draft, both, entry, null);
      }),
      ...large.map((entry) => this.#writeLarge(both, entry)),
    ]);
    for (const { stamp, write } of writes) this.#known.add(stamp.facts, write.facts);
    this.#options.onWritten(
      writes.reduce((sum, { head, write }) => sum + head.length + write.body.length, 0),
    );
  };

  readonly remove: CacheStore['remove'] = async (places) => {
    const [newer, older] = this.#options.generations();
    // First, so that none of them is promoted again.
    if (older !== undefined) await removeIn(older, places);
    await removeIn(newer, places);
  };
}

const isLarge = ({ write, ttlMs }: StampedWrite) => ttlMs >= 1 && write.body.length > LARGE_BODY_BYTES;

const heldIn = (reader: Reader, key: Buffer): Held => orDamaged(() => reader.get(key));

function recordOf(held: Held): EntryRecord | null {
  return held === null || held === 'damaged' ? null : decodeEntryRecord(held);
}

/** One walk over the keys from the first place to the last. */
function walk(view: View, places: readonly CachePlace[]): (key: Buffer) => Held {
  const keys = places.map(entryKey).sort(Buffer.compare);
  const [first, last] = [keys[0] as Buffer, keys.at(-1) as Buffer];
  const limit = WALK_MOST * places.length;
  const damaged: Buffer[] = [];
  const records = view.range({ from: first, to: Buffer.concat([last, Buffer.of(0)]), limit }, ({ key }) =>
    damaged.push(key),
  );
  const found = new Map<string, Held>(records.map(({ key, value }) => [key.toString('latin1'), value]));
  for (const key of damaged) found.set(key.toString('latin1'), 'damaged');
  const end = found.size < limit ? last : (records.at(-1)?.key ?? first);
  return (key) => {
    if (Buffer.compare(key, end) > 0) return heldIn(view, key);
    return found.get(key.toString('latin1')) ?? null;
  };
}

/** @returns the entry with its body, in memory shared between threads; null when a piece is gone */
async function withBody(table: Table, { bodyName, bodyBytes, ...entry }: Found): Promise<CacheEntry | null> {
  if (bodyName === null) return entry;
  const body = Buffer.from(new SharedArrayBuffer(bodyBytes));
  let end = 0;
  for (const [at, key] of pieceKeys(bodyName).entries()) {
    // Also before the first one, as a caller may read many entries in a row.
    if (at % PIECES_AT_ONCE === 0) await turn();
    const held = table.read((view) => heldIn(view, key));
    if (held === null) return null;
    if (held === 'damaged') return DAMAGED;
    end += held.copy(body, end);
  }
  return end === bodyBytes ? { ...entry, body } : DAMAGED;
}

async function setInTurns(table: Table, pieces: readonly RecordWrite[]): Promise<void> {
  for (let at = 0; at < pieces.length; at += PIECES_AT_ONCE)
    await table.change((draft) => {
      for (const { key, value } of pieces.slice(at, at + PIECES_AT_ONCE)) draft.set(key, value);
    });
}

function setFacts(draft: Draft, key: Buffer, facts: Buffer): void {
  const held = heldIn(draft, key);
  if (held === null || held === 'damaged') draft.set(key, facts);
}

function removeEntry(draft: Draft, key: Buffer, held: Held): void {
  removePieces(draft, recordOf(held)?.bodyName ?? null);
  if (held !== null) draft.set(key, null);
}

function removePieces(draft: Draft, bodyName: Buffer | null): void {
  for (const key of bodyName === null ? [] : pieceKeys(bodyName)) draft.set(key, null);
}

function removeIn(table: Table, places: readonly CachePlace[]): Promise<void> {
  return table.change((draft) => {
    for (const key of places.map(entryKey)) removeEntry(draft, key, heldIn(draft, key));
  });
}
