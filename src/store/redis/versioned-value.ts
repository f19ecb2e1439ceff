/**
 * The body of a cache entry at a key of its own: a mark (2 bytes) · the entry's version (6, big endian) · its bytes. What
 * does not start with the mark is nobody's.
 */
import { MARK } from '../entry-stamp.js';

const HEAD_BYTES = 8;

export function encodeVersioned(value: Buffer, version: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + value.length);
  bytes.set(MARK);
  bytes.writeUIntBE(version, MARK.length, HEAD_BYTES - MARK.length);
  value.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** @returns the value, as a view of the bytes; null for what is none of this version */
export function decodeVersioned(bytes: Buffer | null, version: number): Buffer | null {
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  if (bytes[0] !== MARK[0] || bytes[1] !== MARK[1]) return null;
  if (bytes.readUIntBE(MARK.length, HEAD_BYTES - MARK.length) !== version) return null;
  return bytes.subarray(HEAD_BYTES);
}
