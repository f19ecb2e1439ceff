/**
 * Deflated bodies: segments of raw deflate (RFC 1951). Several of them, concatenated, are one stream, and are joined to an answer
 * without being inflated.
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib';
import { turn } from '../../lib/time.js';
import { ROW_SEPARATOR, type Segment } from './entry.js';

/** A body as it is stored, with length and checksum of the plain one. */
export interface StoredBody extends Segment {
  readonly isDeflated: boolean;
}

/** Deflating less gains nothing. */
const DEFLATE_FROM_BYTES = 64;
/** Larger bodies are deflated at a lower level: ten times as fast, for a tenth more bytes. */
const LARGE_BYTES = 1_048_576;
const [LEVEL, LEVEL_OF_LARGE] = [6, 3];
/** Small bodies fit into a smaller window, which takes half the time to prepare. */
const SMALL_BYTES = 2048;
const SMALL_WINDOW = { windowBits: 11, memLevel: 4 };
/** The highest ratio that deflate reaches. */
const MAX_OF_A_BYTE = 1032;
/** More is inflated on another thread. */
const INFLATED_AT_ONCE_BYTES = 262_144;
const MIN_CHUNK_BYTES = 64;

/** @returns the body itself where deflate makes it no smaller */
export function deflateBody(body: Buffer): Buffer {
  if (body.length < DEFLATE_FROM_BYTES) return body;
  const segment = deflateRawSync(body, {
    finishFlush: constants.Z_FULL_FLUSH,
    level: body.length < LARGE_BYTES ? LEVEL : LEVEL_OF_LARGE,
    ...(body.length <= SMALL_BYTES ? SMALL_WINDOW : {}),
    // One piece of memory, of about the size that it will have.
    chunkSize: Math.max(MIN_CHUNK_BYTES, body.length >> 1),
  });
  return segment.length < body.length ? segment : body;
}

/**
 * Inflates all deflated bodies at once, as one stream, with the separator of rows as a stored block after each segment. The
 * separators also show that each segment ends where it should.
 *
 * @returns in the same order; null for a damaged body
 */
export async function inflateBodies(bodies: readonly StoredBody[]): Promise<(Buffer | null)[]> {
  const inflated = await inflateTogether(bodies.filter(({ isDeflated }) => isDeflated));
  const stored = bodies.map((body) => (body.isDeflated ? null : body.bytes));
  const plain = await ifWhole(bodies, stored);
  let next = 0;
  return bodies.map((body, at) => (body.isDeflated ? inflated[next++] : plain[at]) ?? null);
}

async function inflateTogether(bodies: readonly StoredBody[]): Promise<readonly (Buffer | null)[]> {
  if (bodies.length === 0) return [];
  const joined = await inflateStream(bodies);
  const plain = joined === null ? bodies.map(() => null) : await splitJoined(bodies, joined);
  if (bodies.length === 1 || !plain.includes(null)) return plain;
  // One is damaged; the others may be whole.
  return (await Promise.all(bodies.map((body) => inflateTogether([body])))).flat();
}

/** @returns null where its length is wrong */
async function inflateStream(bodies: readonly StoredBody[]): Promise<Buffer | null> {
  if (bodies.some(({ bytes, plainLength }) => plainLength > bytes.length * MAX_OF_A_BYTE)) return null;
  const length = bodies.reduce((sum, { plainLength }) => sum + plainLength + ROW_SEPARATOR.length, 0);
  const stream = Buffer.concat(bodies.flatMap(({ bytes }) => [bytes, SEPARATOR_BLOCK]));
  // A single byte more is detected; a stream that needs more is not one of our bodies.
  const options = {
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: Math.max(MIN_CHUNK_BYTES, length + 1),
    maxOutputLength: length,
  };
  try {
    const plain =
      length <= INFLATED_AT_ONCE_BYTES
        ? inflateRawSync(stream, options)
        : await inflateAside(stream, options);
    return plain.length === length ? plain : null;
  } catch {
    return null;
  }
}

const inflateAside = promisify<Buffer, object, Buffer>(inflateRaw);

/** The separator of rows as a stored block (RFC 1951, section 3.2.4). */
const SEPARATOR_BLOCK = Buffer.concat([
  Buffer.from([0, ROW_SEPARATOR.length, 0, 0xff - ROW_SEPARATOR.length, 0xff]),
  Buffer.from(ROW_SEPARATOR),
]);

function splitJoined(bodies: readonly StoredBody[], joined: Buffer): Promise<(Buffer | null)[]> {
  let at = 0;
  const plain = bodies.map(({ plainLength }) => {
    const end = at + plainLength;
    const body = joined.subarray(at, end);
    const separator = joined.toString('latin1', end, end + ROW_SEPARATOR.length);
    at = end + ROW_SEPARATOR.length;
    return separator === ROW_SEPARATOR ? body : null;
  });
  return ifWhole(bodies, plain);
}

/** @returns those of the right length and checksum */
async function ifWhole(
  bodies: readonly StoredBody[],
  plain: readonly (Buffer | null)[],
): Promise<(Buffer | null)[]> {
  const sums = await crcsInTurns(plain.map((one) => one ?? NOTHING));
  return plain.map((one, at) => {
    const { plainLength, plainCrc } = bodies[at] as StoredBody;
    return one !== null && one.length === plainLength && sums[at] === plainCrc ? one : null;
  });
}

const NOTHING = Buffer.alloc(0);

/** Checksums of 28 MB at once would block the event loop for 10 ms. */
const TURN_BYTES = 1_048_576;

/** @returns the checksum of each, in order; yields to the event loop after each MiB */
export async function crcsInTurns(bodies: readonly Buffer[]): Promise<number[]> {
  const sums: number[] = [];
  let left = TURN_BYTES;
  for (const body of bodies) {
    let sum = 0;
    for (let at = 0; at < body.length; ) {
      if (left === 0) {
        await turn();
        left = TURN_BYTES;
      }
      const piece = body.subarray(at, at + left);
      sum = crc32(piece, sum);
      at += piece.length;
      left -= piece.length;
    }
    sums.push(sum);
  }
  return sums;
}
