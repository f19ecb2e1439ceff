/**
 * Cache entries as records of an ordered environment. The keys:
 * `e` series · group · field: an entry: length of its head (1 byte) · head · body; of a large one: 0 · length of its
 * head · head · name of its body
 * `f` series · digest: facts
 * `p` name of a body (10 bytes) · number (2 bytes): a piece of it
 *
 * Of several entries of one series those of a range of days are neighbours.
 *
 * A large body lies in pieces, so that none is copied, summed or read in one go while hits wait, and an entry is judged
 * or replaced without a look at its body. Pieces are written before the entry that names them, under a name that is used
 * once, and never changed: a reader of several turns reads one body, or finds that it is gone.
 */
import { randomBuffer } from '../../lib/chance.js';
import { readStamp, type Stamp } from '../entry-stamp.js';
import type { CachePlace } from '../port.js';
import type { RecordWrite } from './environment.js';

const ENTRY = Buffer.from('e');
const FACTS = Buffer.from('f');
const PIECE = Buffer.from('p');
/** In the place of the length of a head, which is never 0. */
const LARGE = 0;

/** A larger body lies in pieces. */
export const LARGE_BODY_BYTES = 65_536;
const PIECE_BYTES = 262_144;
const RANDOM_BYTES = 8;
const COUNT_BYTES = 2;

export function entryKey({ series, group, field }: CachePlace): Buffer {
  return Buffer.concat([ENTRY, ...[series, group, field].map(element)]);
}

/** @param digest hexadecimal */
export function factsKey(series: string, digest: string): Buffer {
  return Buffer.concat([FACTS, element(series), Buffer.from(digest, 'hex')]);
}

/** @param bodyName of a large body, which then stands in its place */
export function encodeEntryRecord(head: Buffer, body: Buffer, bodyName: Buffer | null): Buffer {
  if (bodyName !== null) return Buffer.concat([Buffer.of(LARGE, head.length), head, bodyName]);
  return Buffer.concat([Buffer.of(head.length), head, body]);
}

export interface EntryRecord {
  readonly stamp: Stamp;
  readonly head: Buffer;
  /** Empty where the body lies in pieces. */
  readonly body: Buffer;
  /** The name of a body in pieces. */
  readonly bodyName: Buffer | null;
}

/** @returns null for what is no entry */
export function decodeEntryRecord(value: Buffer): EntryRecord | null {
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
export function piecesOf(body: Buffer): { readonly name: Buffer; readonly pieces: RecordWrite[] } {
  const name = Buffer.alloc(RANDOM_BYTES + COUNT_BYTES);
  randomBuffer(RANDOM_BYTES).copy(name);
  name.writeUInt16BE(Math.ceil(body.length / PIECE_BYTES), RANDOM_BYTES);
  const pieces = pieceKeys(name).map((key, at) => ({
    key,
    value: body.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES),
  }));
  return { name, pieces };
}

export function pieceKeys(name: Buffer): Buffer[] {
  const count = name.readUInt16BE(RANDOM_BYTES);
  return Array.from({ length: count }, (_, at) =>
    Buffer.concat([PIECE, name, Buffer.of(at >> 8, at & 0xff)]),
  );
}

/** A text as a part of a key, so that keys are ordered by their texts one after the other. */
function element(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (!bytes.includes(0)) return Buffer.concat([bytes, Buffer.of(0, 1)]);
  const escaped = bytes.toString('latin1').replaceAll('\0', '\0\xff');
  return Buffer.concat([Buffer.from(escaped, 'latin1'), Buffer.of(0, 1)]);
}
