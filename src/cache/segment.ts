/** Stored bodies: segments of deflate. Several of them, concatenated, are one stream. */
import { promisify } from 'node:util';
import { constants, crc32, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib';
import { ROW_SEPARATOR, type Segment } from '../report/entry.js';
import { turn } from '../time.js';

/** A body as it is kept, and what it must become. */
export interface StoredBody extends Segment {
  readonly isDeflated: boolean;
}

/** Less than that gains nothing. */
const DEFLATE_FROM_BYTES = 64;
/** From here on at a lower level: ten times as fast, for a tenth more bytes. */
const LARGE_BYTES = 1_048_576;
const [LEVEL, LEVEL_OF_LARGE] = [6, 3];
/** Of a body that small, all is in a smaller window, which takes half the time to prepare. */
const SMALL_BYTES = 2048;
const SMALL_WINDOW = { windowBits: 11, memLevel: 4 };
/** Deflate makes no more than that of a byte. */
const MOST_OF_A_BYTE = 1032;
/** Together more than that is inflated on another thread. */
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
 * What was deflated is inflated in one go: it is one stream, with the separator of rows as a block of its own behind each
 * segment. That shows as well that a segment ends where it should.
 *
 * @returns in the same order; null for what does not become the body that it was
 */
export async function inflateBodies(bodies: readonly StoredBody[]): Promise<(Buffer | null)[]> {
  const deflated = bodies.filter(({ isDeflated }) => isDeflated);
  const inflated = new Map<StoredBody, Buffer | null>();
  for (const [at, body] of (await inflateTogether(deflated)).entries())
    inflated.set(deflated[at] as StoredBody, body);
  const plain = bodies.map((body) => (body.isDeflated ? null : body.bytes));
  const whole = await ifWhole(bodies, plain);
  return bodies.map((body, at) => (body.isDeflated ? inflated.get(body) : whole[at]) ?? null);
}

async function inflateTogether(bodies: readonly StoredBody[]): Promise<readonly (Buffer | null)[]> {
  if (bodies.length === 0) return [];
  const joined = await inflateStream(bodies);
  const plain = joined === null ? bodies.map(() => null) : await splitJoined(bodies, joined);
  if (bodies.length === 1 || !plain.includes(null)) return plain;
  // One of them is damaged, which says nothing of the others.
  return (await Promise.all(bodies.map((body) => inflateTogether([body])))).flat();
}

/** @returns null where it is not as long as all of them are to be */
async function inflateStream(bodies: readonly StoredBody[]): Promise<Buffer | null> {
  if (bodies.some(({ bytes, plainLength }) => plainLength > bytes.length * MOST_OF_A_BYTE)) return null;
  const length = bodies.reduce((sum, { plainLength }) => sum + plainLength + ROW_SEPARATOR.length, 0);
  const stream = Buffer.concat(bodies.flatMap(({ bytes }) => [bytes, SEPARATOR_BLOCK]));
  // A byte more would be found, and refused; what asks for more is no body of ours.
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

/** @returns those that are what they were */
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
