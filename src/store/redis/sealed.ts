/** Values of days in Redis: a checksum over key, field and value precedes each. */
import { crc32 } from 'node:zlib';
import { checksumOf } from '../checksum.js';
import type { StoredMonth } from '../days-port.js';
import { readTable } from '../month-table.js';
import { STAMP_BYTES, stampOf } from '../stamp.js';

const CRC_BYTES = 4;

/** A value with its checksum. */
export function sealed(hash: string, field: string, value: Buffer): Buffer {
  const front = Buffer.alloc(CRC_BYTES);
  front.writeUInt32BE(checksumOf(value, crc32(`${hash} ${field}`)));
  return Buffer.concat([front, value]);
}

/** @returns null for an absent or damaged value */
export function opened(hash: string, field: string, bytes: Buffer | null): Buffer | null {
  if (bytes === null || bytes.length < CRC_BYTES) return null;
  const value = bytes.subarray(CRC_BYTES);
  return checksumOf(value, crc32(`${hash} ${field}`)) === bytes.readUInt32BE() ? value : null;
}

/** @param value at least a stamp */
export function indexIn(hash: string, value: Buffer): Pick<StoredMonth, 'stamp' | 'index'> {
  const stamp = stampOf(value);
  const bytes = opened(hash, 'i', value.subarray(STAMP_BYTES));
  if (bytes === null) return { stamp, index: null };
  return { stamp, index: readTable(bytes).index };
}
