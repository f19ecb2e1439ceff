/**
 * A cache entry in Redis: a mark (2 bytes) · its version (6, big endian) · its value. What does not start with the
 * mark is nobody's.
 */
export const MARK = [0xd6, 0x02] as const;
export const HEAD_BYTES = 8;

export function encodeVersioned(value: Buffer, version: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + value.length);
  bytes.set(MARK);
  bytes.writeUIntBE(version, MARK.length, HEAD_BYTES - MARK.length);
  value.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** @returns the value, as a view of the bytes; null for what is no entry */
export function decodeVersioned(bytes: Buffer | null): Buffer | null {
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  if (bytes[0] !== MARK[0] || bytes[1] !== MARK[1]) return null;
  return bytes.subarray(HEAD_BYTES);
}
