/**
 * Finished answers as they lie in memory. One that was asked for once may never be asked for again, so it is deflated,
 * which takes a quarter of the room; who asks again has it inflated, in about 30 µs, and from then on it stays as it is sent.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { joinDeflate } from '../http/join-gzip.js';
import { AT_ONCE_BYTES } from '../http/report-call.js';
import { inOwnMemory } from '../own-memory.js';
import type { BodyPieces } from '../report/entry.js';
import type { Finished } from './render.js';

export type HeldAnswer = Ready | Packed;

interface Ready {
  readonly kind: 'ready';
  readonly bytes: number;
  readonly finished: Finished;
}

interface Packed {
  readonly kind: 'packed';
  readonly bytes: number;
  readonly finished: Omit<Finished, 'body'>;
  readonly deflated: Buffer;
}

/** Less gains nothing; more would take too long at once. */
const [PACK_FROM_BYTES, PACK_TO_BYTES] = [1024, AT_ONCE_BYTES];
/** What is hardly smaller is not worth inflating. */
const WORTH_PART = 0.75;

export function ready(finished: Finished): Ready {
  return { kind: 'ready', bytes: finished.bytes, finished };
}

/**
 * @param pieces the body as the store has it, deflated already: that is joined; null where it is not
 * @returns the same where it would not become much smaller
 */
export function pack(held: Ready, pieces: BodyPieces | null): HeldAnswer {
  const { body, ...finished } = held.finished;
  const [only] = body;
  if (only === undefined || !isWorthPacking(held.finished)) return held;
  const deflated =
    pieces === null ? [deflateRawSync(only, { level: 1, chunkSize: only.length })] : joinDeflate(pieces);
  const bytes = deflated.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes > only.length * WORTH_PART) return held;
  return { kind: 'packed', bytes, finished, deflated: inOwnMemory(Buffer.concat(deflated, bytes)) };
}

export function unpack({ finished, deflated }: Packed): Finished {
  const body = [inflateRawSync(deflated, { chunkSize: finished.bytes + 1 })];
  return Object.assign({ body }, finished);
}

/** What is coded already would not become smaller. */
function isWorthPacking({ coding, body, bytes }: Finished): boolean {
  return coding === 'identity' && body.length === 1 && bytes >= PACK_FROM_BYTES && bytes <= PACK_TO_BYTES;
}
