/**
 * Cache entries on the disk, in two generations. Writes go to the newer one, and an entry read from the older one is
 * promoted to the newer one. The older generation is deleted as a whole.
 */
import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { turn } from '../../lib/time.js';
import { wholeMs, wholeVersion } from '../check-input.js';
import { type CacheEntry, type CacheStore, type CacheWrite, replaces, StoreUnavailable } from '../port.js';
import { orDamaged, type Reader, type RecordWrite } from './environment.js';
import { nameKey } from './records.js';
import type { Draft, Table } from './table.js';

// The keys:
// `w` id: an entry: kind (1 byte) · version (6) · end (6) · its bytes, or the name of a large body
// `b` name of a body (12 bytes) · number (2 bytes): a piece of it
// A large body is stored in pieces, so that none is copied or checked in one go while hits wait. Pieces are written
// before the entry that names them, under a name used once: a reader of several turns reads one body, or finds it gone.

const [ENTRY, PIECE] = ['w', 'b'] as const;
const [SMALL, LARGE] = [1, 2] as const;
const FRONT_BYTES = 13;
/** A larger body lies in pieces. */
const LARGE_BYTES = 65_536;
const PIECE_BYTES = 262_144;
const RANDOM_BYTES = 8;
/** Times fit into six bytes. */
const LATEST_MS = 2 ** 48 - 1;

export const entryKey = (id: string): Buffer => nameKey(ENTRY, id);

interface EntryRecord {
  readonly version: number;
  readonly endsAtMs: number;
  /** Of the entry, or the name of its body. */
  readonly bytes: Buffer;
  readonly isLarge: boolean;
}

function encodeRecord({ version, endsAtMs, bytes, isLarge }: EntryRecord): Buffer {
  const front = Buffer.alloc(FRONT_BYTES);
  front[0] = isLarge ? LARGE : SMALL;
  front.writeUIntBE(version, 1, 6);
  front.writeUIntBE(endsAtMs, 7, 6);
  return Buffer.concat([front, bytes]);
}

/** Null: there is none. */
type Held = Buffer | 'damaged' | null;

/** @returns null for what is no entry */
function recordOf(held: Held): EntryRecord | null {
  if (held === null || held === 'damaged' || held.length < FRONT_BYTES) return null;
  return {
    version: held.readUIntBE(1, 6),
    endsAtMs: held.readUIntBE(7, 6),
    bytes: held.subarray(FRONT_BYTES),
    isLarge: held[0] === LARGE,
  };
}

/** Random, and the length of the body. */
function newName(length: number): Buffer {
  const name = Buffer.alloc(RANDOM_BYTES + 4);
  randomBuffer(RANDOM_BYTES).copy(name);
  name.writeUInt32BE(length, RANDOM_BYTES);
  return name;
}

const lengthIn = (name: Buffer) => name.readUInt32BE(RANDOM_BYTES);

function pieceKeys(name: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(lengthIn(name) / PIECE_BYTES) }, (_, at) =>
    Buffer.concat([Buffer.from(PIECE), name, Buffer.of(at >> 8, at & 0xff)]),
  );
}

/** Pieces copied and checked in one turn: about a millisecond. */
const PIECES_AT_ONCE = 2;

/** Returned for a damaged record: the reader of the entry detects and counts it. */
const DAMAGED: CacheEntry = { version: 0, bytes: Buffer.alloc(0) };

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
export function createDiskCache(options: DiskCacheOptions): CacheStore {
  const { generations, clock, hasRoom, onWritten } = options;
  const readOne = createRead(options);
  return {
    async read(ids, after) {
      await after?.catch(() => {});
      return await Promise.all(ids.map(readOne));
    },
    async write(entries) {
      const writes = entries.map(({ id, version, bytes, ttlMs, atMs = version }) => ({
        id,
        version: wholeVersion(version),
        bytes,
        ttlMs: wholeMs(ttlMs),
        atMs,
      }));
      if (writes.length === 0) return;
      if (!(await hasRoom()))
        throw new StoreUnavailable('the disk is almost full: nothing more is cached', 'no-room');
      const both = generations();
      await Promise.all(writes.map((one) => writeOne(both, one, Math.floor(clock.now()))));
      onWritten(writes.reduce((sum, { bytes }) => sum + FRONT_BYTES + bytes.length, 0));
    },
  };
}

function createRead({ generations, clock, hasRoom, onWritten }: DiskCacheOptions) {
  async function promote(from: Table, key: Buffer, held: Buffer, { bytes, isLarge }: EntryRecord) {
    // Meanwhile a full generation may be replaced.
    if (!(await hasRoom())) return;
    const [newer] = generations();
    const pieces = isLarge ? pieceKeys(bytes) : [];
    await setInTurns(
      newer,
      pieces.map((name) => ({ key: name, value: from.read((view) => view.get(name)) })),
    );
    await newer.change((draft) => {
      // The entry may have been removed since it was read.
      if (draft.has(key) || !from.read((view) => view.has(key))) return;
      draft.set(key, held);
      onWritten(isLarge ? lengthIn(bytes) : held.length);
    });
  }

  return async (id: string): Promise<CacheEntry | null> => {
    const [newer, older] = generations();
    const key = entryKey(id);
    const heldBy = (table: Table) => table.read((view) => heldIn(view, key));
    const own = heldBy(newer);
    const isOlder = own === null && older !== undefined;
    const [table, held] = isOlder ? [older, heldBy(older)] : [newer, own];
    if (held === 'damaged') return DAMAGED;
    const record = aliveIn(held, clock.now());
    if (record === null) return null;
    // Not awaited: an entry that was not promoted is promoted at its next read.
    if (isOlder) void promote(older, key, held as Buffer, record).catch(() => {});
    const { version, bytes, isLarge } = record;
    return isLarge ? await withBody(table, version, bytes) : { version, bytes };
  };
}

/** @returns null for what is no entry, or is over */
function aliveIn(held: Held, nowMs: number): EntryRecord | null {
  const record = recordOf(held);
  return record !== null && record.endsAtMs > nowMs ? record : null;
}

/** Whether the present entry wins over a write. An incomplete one does not. */
function presentWins(
  reader: Reader,
  held: Held,
  { version, atMs = version }: CacheWrite,
  nowMs: number,
): boolean {
  const present = aliveIn(held, nowMs);
  if (present === null || replaces(version, present.version, atMs)) return false;
  return !present.isLarge || pieceKeys(present.bytes).every(reader.has);
}

/** The same for both generations. */
function eitherWins(newer: Reader, [, older]: Generations, write: CacheWrite, nowMs: number): boolean {
  const key = entryKey(write.id);
  const held = heldIn(newer, key);
  if (held !== null || older === undefined) return presentWins(newer, held, write, nowMs);
  return older.read((view) => presentWins(view, heldIn(view, key), write, nowMs));
}

async function writeOne(both: Generations, write: CacheWrite, nowMs: number): Promise<void> {
  const [newer, older] = both;
  const { id, version, bytes, ttlMs } = write;
  const key = entryKey(id);
  const isRemoval = ttlMs < 1;
  const isLarge = !isRemoval && bytes.length > LARGE_BYTES;
  const stored = isLarge ? newName(bytes.length) : bytes;
  if ((isLarge || isRemoval) && newer.read((view) => eitherWins(view, both, write, nowMs))) return;
  // First, so that it is not promoted again.
  if (isRemoval) await older?.change((draft) => removeEntry(draft, key));
  const pieces = isLarge ? pieceKeys(stored) : [];
  await setInTurns(
    newer,
    pieces.map((name, at) => ({
      key: name,
      value: bytes.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES),
    })),
  );
  await newer.change((draft) => {
    if (eitherWins(draft, both, write, nowMs)) {
      for (const name of pieces) draft.set(name, null);
      return;
    }
    removeEntry(draft, key);
    const endsAtMs = Math.min(nowMs + ttlMs, LATEST_MS);
    if (!isRemoval) draft.set(key, encodeRecord({ version, endsAtMs, bytes: stored, isLarge }));
  });
}

const heldIn = (reader: Reader, key: Buffer): Held => orDamaged(() => reader.get(key));

/** @returns the entry with its body, in memory shared between threads; null when a piece is gone */
async function withBody(table: Table, version: number, name: Buffer): Promise<CacheEntry | null> {
  const bytes = Buffer.from(new SharedArrayBuffer(lengthIn(name)));
  let end = 0;
  for (const [at, key] of pieceKeys(name).entries()) {
    // Also before the first one, as a caller may read many entries in a row.
    if (at % PIECES_AT_ONCE === 0) await turn();
    const held = table.read((view) => heldIn(view, key));
    if (held === null) return null;
    if (held === 'damaged') return DAMAGED;
    end += held.copy(bytes, end);
  }
  return end === bytes.length ? { version, bytes } : DAMAGED;
}

async function setInTurns(table: Table, pieces: readonly RecordWrite[]): Promise<void> {
  for (let at = 0; at < pieces.length; at += PIECES_AT_ONCE)
    await table.change((draft) => {
      for (const { key, value } of pieces.slice(at, at + PIECES_AT_ONCE)) draft.set(key, value);
    });
}

function removeEntry(draft: Draft, key: Buffer): void {
  const held = heldIn(draft, key);
  const record = recordOf(held);
  for (const name of record?.isLarge ? pieceKeys(record.bytes) : []) draft.set(name, null);
  if (held !== null) draft.set(key, null);
}
