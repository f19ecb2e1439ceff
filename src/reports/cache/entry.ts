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
import { crc32 } from 'node:zlib';
import { parseObject } from '../../lib/json.js';
import type { CacheEntry } from '../../store/port.js';
import { bodyHash, type Segment } from '../rows/entry.js';
import { crcsInTurns, deflateBody, inflateBodies, type StoredBody } from '../rows/segments.js';
import { isWholeHeader, leaveOutHash, pack, readCodec, unpack, writeCodec } from './header.js';

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

let latestFacts = { text: '', facts: Buffer.alloc(0), factsCrc: 0 };

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
