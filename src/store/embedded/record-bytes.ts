/** How a record's value stands in lmdb: behind its stamp, which lmdb-js keeps, a checksum and the bytes themselves. */
import { crc32 } from 'node:zlib';

const CRC_BYTES = 4;
const STAMP_BYTES = 8;

/** @param value in pieces, in order: they are copied once */
export function encodeRecord(key: Buffer, stamp: number, value: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafe(value.reduce((sum, { length }) => sum + length, CRC_BYTES));
  let end = CRC_BYTES;
  for (const piece of value) end += piece.copy(bytes, end);
  bytes.writeUInt32LE(checksum(key, stamp, bytes.subarray(CRC_BYTES)));
  return bytes;
}

/** @returns the value, or null when it is damaged */
export function decodeRecord(key: Buffer, stamp: number, bytes: Buffer): Buffer | null {
  if (bytes.length < CRC_BYTES) return null;
  const value = bytes.subarray(CRC_BYTES);
  return bytes.readUInt32LE() === checksum(key, stamp, value) ? value : null;
}

/** The same, of all that lies in the file for a record. */
export function recordIsWhole(key: Buffer, data: Buffer): boolean {
  if (data.length < STAMP_BYTES) return false;
  return decodeRecord(key, data.readDoubleLE(), data.subarray(STAMP_BYTES)) !== null;
}

/** Of the key and the stamp as well: a value that is whole, but found in the place of another, is damaged too. */
function checksum(key: Buffer, stamp: number, value: Buffer): number {
  return crc32(value, crc32(key, crc32(String(stamp))));
}
