import { crc32 } from 'node:zlib';

/**
 * CRC-32 of bytes, after those of `before`. Without bytes it is `before`: zlib takes an empty buffer without memory for the
 * start of a new checksum.
 */
export function checksumOf(bytes: Buffer, before: number): number {
  return bytes.length === 0 ? before : crc32(bytes, before);
}
