/**
 * Bodies of large entries, in pieces: so that none is copied, summed or read in one go while hits wait, and an entry is
 * judged, replaced or removed without a look at its body.
 *
 * Pieces are written before the entry that names them, under a name that is used once, and never changed: whoever reads
 * them over several turns reads one body, or finds that it is gone. Pieces that no entry names, as after a crash, go
 * when their entry would have ended.
 */
import { randomBuffer } from '../../chance.js';
import { turn } from '../../time.js';
import { encodeEnd, endKey, PIECE } from './cache-records.js';
import type { Environment, RecordWrite, View } from './environment.js';
import { getHeld } from './read-entries.js';

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
