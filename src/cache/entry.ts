/**
 * A cache entry as bytes: a header of facts (JSON) and a body, with a checksum.
 *
 * Layout: `DGE1` · CRC-32 of all that follows (u32) · header length (u32) · body length (u32) · header · body.
 */
import { crc32 } from 'node:zlib';

const MAGIC = Buffer.from('DGE1');
const CHECKSUM_AT = 4;
const LENGTHS_AT = 8;
const PREAMBLE = 16;

export interface RawEntry {
  readonly header: unknown;
  readonly body: Buffer;
}

/** @param allocate gives memory for the entry, of exactly this length */
export function encodeEntry(
  header: object,
  body: Buffer,
  allocate: (length: number) => Buffer = Buffer.allocUnsafe,
): Buffer {
  const head = Buffer.from(JSON.stringify(header));
  const bytes = allocate(PREAMBLE + head.length + body.length);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(head.length, LENGTHS_AT);
  bytes.writeUInt32BE(body.length, LENGTHS_AT + 4);
  head.copy(bytes, PREAMBLE);
  body.copy(bytes, PREAMBLE + head.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(LENGTHS_AT)), CHECKSUM_AT);
  return bytes;
}

/** @returns null for anything that is not a whole, undamaged entry of this form: it counts as absent. */
export function decodeEntry(bytes: Buffer): RawEntry | null {
  if (bytes.length < PREAMBLE || !bytes.subarray(0, 4).equals(MAGIC)) return null;
  const headLength = bytes.readUInt32BE(LENGTHS_AT);
  const bodyLength = bytes.readUInt32BE(LENGTHS_AT + 4);
  if (bytes.length !== PREAMBLE + headLength + bodyLength) return null;
  if (crc32(bytes.subarray(LENGTHS_AT)) !== bytes.readUInt32BE(CHECKSUM_AT)) return null;
  try {
    const header: unknown = JSON.parse(bytes.toString('utf8', PREAMBLE, PREAMBLE + headLength));
    return { header, body: bytes.subarray(PREAMBLE + headLength) };
  } catch {
    return null;
  }
}
