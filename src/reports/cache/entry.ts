/**
 * A cache entry as bytes, big endian: form (1 byte) · checksum (4) · length of the header (4) · plain length of the body (4) and
 * its CRC-32 (4) · header as JSON · body, deflated unless it is of its plain length.
 *
 * The checksum covers the name of the entry, the version, and all that follows it. An entry under the wrong name, as after a
 * rename in the store, is damaged, and never served for another period or account. Form and checksum are at the same place in
 * every form, so that entries of a later release are told from damaged ones.
 */
import { crc32 } from 'node:zlib';
import { parseObject } from '../../lib/json.js';
import type { CacheEntry } from '../../store/port.js';
import type { Segment } from '../rows/entry.js';
import { crcsInTurns, deflateBody, inflateBodies } from '../rows/segments.js';

/**
 * Entries of another form count as absent. Raise it also when accounts are extracted differently: the accounts of an entry
 * decide who may see it.
 */
const FORM = 4;
const CHECKSUM_AT = 1;
const CHECKED_FROM = 5;
const PLAIN_LENGTH_AT = 9;
const PLAIN_CRC_AT = 13;
const HEADER_AT = 17;

export interface RawEntry {
  /** See {@link RawWrite}. */
  readonly version: number;
  readonly header: unknown;
  readonly body: Buffer;
  /** The stored body, where it is deflated. */
  readonly segment?: Segment;
}

export interface RawWrite {
  /** Name of the entry: under another one it cannot be read. */
  readonly id: string;
  /** Order of its fetch in milliseconds: the newer entry wins. */
  readonly version: number;
  /** Of JSON values. */
  readonly header: object;
  readonly body: Buffer;
}

export function encodeEntry({ id, version, header, body }: RawWrite): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const front = Buffer.alloc(HEADER_AT);
  front[0] = FORM;
  front.writeUInt32BE(text.length, CHECKED_FROM);
  front.writeUInt32BE(body.length, PLAIN_LENGTH_AT);
  front.writeUInt32BE(crc32(body), PLAIN_CRC_AT);
  const bytes = Buffer.concat([front, text, deflateBody(body)]);
  bytes.writeUInt32BE(seal(id, version, FORM, crc32(bytes.subarray(CHECKED_FROM))), CHECKSUM_AT);
  return bytes;
}

/** @param sum of all that follows the checksum */
function seal(id: string, version: number, form: number | undefined, sum: number): number {
  return crc32(`${id} ${version}:${form}`, sum);
}

/** `damaged`: not the bytes that were written under this name; `unknown`: written by another release. */
export type Decoded = RawEntry | 'damaged' | 'unknown';

export async function decodeEntry(id: string, { version, bytes }: CacheEntry): Promise<Decoded> {
  if (bytes.length < CHECKED_FROM) return 'damaged';
  const [sum = 0] = await crcsInTurns([bytes.subarray(CHECKED_FROM)]);
  if (seal(id, version, bytes[0], sum) !== bytes.readUInt32BE(CHECKSUM_AT)) return 'damaged';
  if (bytes[0] !== FORM) return 'unknown';
  const bodyAt = HEADER_AT + bytes.readUInt32BE(CHECKED_FROM);
  const stored = bytes.subarray(bodyAt);
  const segment = {
    bytes: stored,
    plainLength: bytes.readUInt32BE(PLAIN_LENGTH_AT),
    plainCrc: bytes.readUInt32BE(PLAIN_CRC_AT),
  };
  const isDeflated = stored.length !== segment.plainLength;
  const [body = null] = await inflateBodies([{ ...segment, isDeflated }]);
  const header = parseObject(bytes.toString('utf8', HEADER_AT, bodyAt));
  if (body === null || header === null) return 'damaged';
  return isDeflated ? { version, header, body, segment } : { version, header, body };
}
