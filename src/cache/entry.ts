/**
 * A cache entry as bytes: a binary header of what is its own, its facts, and its body.
 *
 * What is the same for many entries, or of no fixed length, are facts (JSON): columns, types, accounts, paging, words
 * of the platform. Of the header's members those stand in the binary header that have a place there and a value that
 * fits; all others, those of another release among them, are facts too. So nothing is lost on the way.
 *
 * The header's checksum is over the name of the entry, the version, the facts and itself: an entry that lies where
 * another belongs, as after a rename in the store, is damaged, and is never given for another day or account. It stands at
 * the same place in every format, so that what a later release has written is told from what is damaged.
 */
import { crc32 } from 'node:zlib';
import type { Segment } from '../report/entry.js';
import type { CacheEntry } from '../store/port.js';
import { crcsInTurns } from './crc-in-turns.js';
import { isWholeHeader, pack, unpack } from './header.js';
import { deflateBody, inflateBodies, type StoredBody } from './segment.js';

/**
 * Of the header and of the facts; another one is absent. It is raised, too, when other accounts are found in an answer than
 * before: what an entry says of them decides who may see it.
 */
const FORMAT = 3;
const CHECKSUM_AT = 1;
const CHECKED_FROM = 5;
const CODEC_AT = 7;
const PLAIN_LENGTH_AT = 29;
const PLAIN_CRC_AT = 33;
const STORED_CRC_AT = 37;

/** How a body is kept: as it is, or see segment.ts. */
const [PLAIN, DEFLATED] = [0, 1] as const;

export interface RawEntry {
  /** See {@link RawWrite}. */
  readonly version: number;
  readonly header: unknown;
  readonly body: Buffer;
  /** The body as it was kept, where that is deflated. */
  readonly segment?: Segment;
}

export type EncodedEntry = Pick<CacheEntry, 'header' | 'body' | 'facts'>;

/** An entry as it is to be kept. */
export interface RawWrite {
  /** The name of the entry: under another one it is not read. */
  readonly id: string;
  /**
   * When its content began to be fetched, epoch milliseconds: the newer entry wins. A `fetchStartedAt` of the same value
   * is not written a second time.
   */
  readonly version: number;
  /** What JSON can say. */
  readonly header: object;
  readonly body: Buffer;
}

export function encodeEntry({ id, version, header, body }: RawWrite): EncodedEntry {
  const { bytes: unsealed, stored, facts, factsCrc } = bytesOf(version, header, body);
  const bytes = Buffer.from(unsealed);
  bytes.writeUInt32BE(checksum(id, version, bytes, factsCrc), CHECKSUM_AT);
  return { header: bytes, body: stored, facts };
}

/** An entry as bytes, but for the checksum that holds it to its name. */
interface Unsealed {
  readonly version: number;
  /** What it was made of. */
  readonly plain: Buffer;
  readonly bytes: Buffer;
  readonly stored: Buffer;
  readonly facts: Buffer;
  readonly factsCrc: number;
}

/** By header: the same entry is written to the cache and to the history, under two names, one right after the other. */
const lately = new WeakMap<object, Unsealed>();

function bytesOf(version: number, header: object, body: Buffer): Unsealed {
  const known = lately.get(header);
  lately.delete(header);
  if (known !== undefined && known.version === version && known.plain === body) return known;
  const made = makeBytes(version, header, body);
  lately.set(header, made);
  return made;
}

function makeBytes(version: number, header: object, plain: Buffer): Unsealed {
  const { bytes, rest } = pack(version, header);
  const facts = Buffer.from(JSON.stringify(rest));
  const stored = deflateBody(plain);
  bytes[0] = FORMAT;
  bytes[CODEC_AT] = stored === plain ? PLAIN : DEFLATED;
  bytes.writeUInt32BE(plain.length, PLAIN_LENGTH_AT);
  bytes.writeUInt32BE(crc32(plain), PLAIN_CRC_AT);
  bytes.writeUInt32BE(crc32(stored), STORED_CRC_AT);
  return { version, plain, bytes, stored, facts, factsCrc: crc32(facts) };
}

/** `damaged`: not the bytes that were written under this name, and nobody's; `unknown`: another release has written it. */
export type Decoded = RawEntry | 'damaged' | 'unknown';

export interface FoundEntry {
  /** The name under which it was found. */
  readonly id: string;
  readonly entry: CacheEntry;
}

/** @returns in the same order. What is damaged or unknown counts as absent */
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

interface OpenedEntry {
  readonly header: object;
  readonly body: StoredBody;
}

/** Everything but its body, of which the stored bytes are found whole. */
function openEntry(
  { id, entry: { version, header, body, facts } }: FoundEntry,
  storedCrc: number,
): OpenedEntry | 'damaged' | 'unknown' {
  if (header.length < CHECKED_FROM) return 'damaged';
  const known = readFacts(facts);
  if (checksum(id, version, header, known.crc) !== header.readUInt32BE(CHECKSUM_AT)) return 'damaged';
  if (header[0] !== FORMAT || !isWholeHeader(header)) return 'unknown';
  if (storedCrc !== header.readUInt32BE(STORED_CRC_AT)) return 'damaged';
  const codec = header[CODEC_AT];
  if ((codec !== PLAIN && codec !== DEFLATED) || known.value === null) return 'unknown';
  return {
    header: unpack(version, header, known.value),
    body: {
      bytes: body,
      isDeflated: codec === DEFLATED,
      plainLength: header.readUInt32BE(PLAIN_LENGTH_AT),
      plainCrc: header.readUInt32BE(PLAIN_CRC_AT),
    },
  };
}

function checksum(id: string, version: number, header: Buffer, crcOfFacts: number): number {
  const start = crc32(`${id} ${version}:${header[0]}:${header.length}`, crcOfFacts);
  return crc32(header.subarray(CHECKED_FROM), start);
}

interface ReadFacts {
  readonly crc: number;
  /** Null: not an object as JSON. */
  readonly value: object | null;
}

/** Facts are shared by many entries, and are read once for all of them. */
const read = new WeakMap<Buffer, ReadFacts>();

function readFacts(facts: Buffer): ReadFacts {
  const present = read.get(facts);
  if (present !== undefined) return present;
  const known = { crc: crc32(facts), value: parse(facts) };
  read.set(facts, known);
  return known;
}

function parse(facts: Buffer): object | null {
  try {
    const value: unknown = JSON.parse(facts.toString());
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
