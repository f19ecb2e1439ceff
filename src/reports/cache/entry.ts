/**
 * A cache entry as bytes: a binary header, facts as JSON, and the body.
 *
 * Header members that have a place in the binary header, and a value that fits, stand there. All others are facts: what
 * many entries share or what has no fixed length (columns, types, accounts, paging, words of the platform), and members of
 * other releases. So nothing is lost.
 *
 * The checksum covers the name of the entry, the version, the facts and the header. An entry under the wrong name, as after
 * a rename in the store, is damaged, and never served for another day or account. The checksum is at the same place in every
 * format, so that entries of a later release are told from damaged ones.
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib';
import { parseObject } from '../../lib/json.js';
import { turn } from '../../lib/time.js';
import type { CacheEntry } from '../../store/port.js';
import { bodyHash, ROW_SEPARATOR, type Segment } from '../rows/entry.js';
import { isWholeHeader, leaveOutHash, pack, readCodec, unpack, writeCodec } from './header.js';

// Stored bodies: segments of deflate. Several of them, concatenated, are one stream.

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

/**
 * Of header and facts; entries of another format count as absent. Raise it also when accounts are extracted differently:
 * the accounts of an entry decide who may see it.
 */
const FORMAT = 3;
const CHECKSUM_AT = 1;
const CHECKED_FROM = 5;
const PLAIN_LENGTH_AT = 29;
const PLAIN_CRC_AT = 33;
const STORED_CRC_AT = 37;

/**
 * How a body is stored. Hashed: plain, without its hash and the checksum of the plain bytes, which follow from it: digests
 * are most of what deflate cannot compress in a pack of small days.
 */
const [PLAIN, DEFLATED, HASHED] = [0, 1, 2] as const;

export interface RawEntry {
  /** See {@link RawWrite}. */
  readonly version: number;
  readonly header: unknown;
  readonly body: Buffer;
  /** The stored body, where it is deflated. */
  readonly segment?: Segment;
}

export type EncodedEntry = Pick<CacheEntry, 'header' | 'body' | 'facts'>;

export interface RawWrite {
  /** Name of the entry: under another one it cannot be read. */
  readonly id: string;
  /** Start of its fetch, epoch milliseconds: the newer entry wins. An equal `fetchStartedAt` is not written twice. */
  readonly version: number;
  /** Of JSON values. */
  readonly header: object;
  readonly body: Buffer;
  /** The body is not deflated, as the store compresses it. */
  readonly isPlain?: boolean;
}

export function encodeEntry({ id, version, header, body, isPlain = false }: RawWrite): EncodedEntry {
  // The same entry is written to the cache and to history under two names, one right after the other.
  const before = lately.get(header);
  lately.delete(header);
  const isSame = before?.version === version && before.plain === body && before.isPlain === isPlain;
  const made = isSame ? before : makeBytes(version, header, body, isPlain);
  if (!isSame) lately.set(header, made);
  const { bytes: unsealed, stored, facts, factsCrc } = made;
  const bytes = Buffer.from(unsealed);
  bytes.writeUInt32BE(checksum(id, version, bytes, factsCrc), CHECKSUM_AT);
  return { header: bytes, body: stored, facts };
}

/** By header. */
const lately = new WeakMap<object, ReturnType<typeof makeBytes>>();

/** An entry as bytes, without the checksum that ties it to its name. */
function makeBytes(version: number, header: object, plain: Buffer, isPlain: boolean) {
  const { bytes, rest } = pack(version, header);
  const { facts, factsCrc } = factsOf(JSON.stringify(rest));
  const stored = isPlain ? plain : deflateBody(plain);
  bytes[0] = FORMAT;
  const isHashed = isPlain && 'hash' in header && header.hash === bodyHash(plain);
  if (isHashed) leaveOutHash(bytes);
  writeCodec(bytes, isHashed ? HASHED : stored === plain ? PLAIN : DEFLATED);
  bytes.writeUInt32BE(plain.length, PLAIN_LENGTH_AT);
  bytes.writeUInt32BE(isHashed ? 0 : crc32(plain), PLAIN_CRC_AT);
  bytes.writeUInt32BE(crc32(stored), STORED_CRC_AT);
  return { version, plain, isPlain, bytes, stored, facts, factsCrc };
}

/** Days of an answer have equal facts: one buffer for all of them, whose digest is computed once. */
function factsOf(text: string) {
  if (latestFacts.text !== text) {
    const facts = Buffer.from(text);
    latestFacts = { text, facts, factsCrc: crc32(facts) };
  }
  return latestFacts;
}

let latestFacts = { text: '', facts: NOTHING, factsCrc: 0 };

/** `damaged`: not the bytes that were written under this name; `unknown`: written by another release. */
export type Decoded = RawEntry | 'damaged' | 'unknown';

/** An entry, and the name under which it was found. */
interface FoundEntry {
  readonly id: string;
  readonly entry: CacheEntry;
}

/** @returns in the same order */
export async function decodeEntries(found: readonly FoundEntry[]): Promise<Decoded[]> {
  const sums = await crcsInTurns(found.map(({ entry }) => entry.body));
  const opened = found.map((one, at) => openEntry(one, sums[at] as number));
  const bodies = await inflateBodies(opened.flatMap((one) => (typeof one === 'string' ? [] : [one.body])));
  let at = 0;
  return opened.map((one, place) => {
    if (typeof one === 'string') return one;
    const body = bodies[at++] ?? null;
    if (body === null) return 'damaged';
    const { version } = (found[place] as FoundEntry).entry;
    return one.body.isDeflated
      ? { version, header: one.header, body, segment: one.body }
      : { version, header: one.header, body };
  });
}

/** Checks and decodes everything but the body, which stays as it is stored. */
function openEntry(
  { id, entry: { version, header, body, facts } }: FoundEntry,
  storedCrc: number,
): { readonly header: object; readonly body: StoredBody } | 'damaged' | 'unknown' {
  if (header.length < CHECKED_FROM) return 'damaged';
  const known = readFacts(facts);
  if (checksum(id, version, header, known.crc) !== header.readUInt32BE(CHECKSUM_AT)) return 'damaged';
  if (header[0] !== FORMAT || !isWholeHeader(header)) return 'unknown';
  if (storedCrc !== header.readUInt32BE(STORED_CRC_AT)) return 'damaged';
  const codec = readCodec(header);
  if ((codec !== PLAIN && codec !== DEFLATED && codec !== HASHED) || known.value === null) return 'unknown';
  const isHashed = codec === HASHED;
  const members = unpack(version, header, known.value);
  return {
    header: isHashed ? Object.assign(members, { hash: bodyHash(body) }) : members,
    body: {
      bytes: body,
      isDeflated: codec === DEFLATED,
      plainLength: header.readUInt32BE(PLAIN_LENGTH_AT),
      plainCrc: isHashed ? storedCrc : header.readUInt32BE(PLAIN_CRC_AT),
    },
  };
}

function checksum(id: string, version: number, header: Buffer, crcOfFacts: number): number {
  const start = crc32(`${id} ${version}:${header[0]}:${header.length}`, crcOfFacts);
  return crc32(header.subarray(CHECKED_FROM), start);
}

/** Facts are shared by many entries, and are parsed once for all of them. */
const parsedFacts = new WeakMap<Buffer, { readonly crc: number; readonly value: object | null }>();

/** @returns `value`: null for what is no JSON object */
function readFacts(facts: Buffer) {
  const known = parsedFacts.get(facts);
  if (known !== undefined) return known;
  const parsed = { crc: crc32(facts), value: parseObject(facts.toString()) };
  parsedFacts.set(facts, parsed);
  return parsed;
}
