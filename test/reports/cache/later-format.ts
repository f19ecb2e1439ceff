import { crc32 } from 'node:zlib';
import type { CacheEntry } from '../../../src/store/port.js';

/** The entry as a later release may write it: another format, a longer header, a checksum that is right. */
export function laterFormat(id: string, entry: CacheEntry): CacheEntry {
  return inFormat(id, entry, (entry.header[0] as number) + 1, [1, 2, 3]);
}

/** The entry in another format, with what that one has more. */
export function inFormat(
  id: string,
  { version, header, body, facts }: CacheEntry,
  format: number,
  more: readonly number[] = [],
): CacheEntry {
  const later = Buffer.concat([header, Buffer.from(more)]);
  later[0] = format;
  const start = crc32(`${id} ${version}:${format}:${later.length}`, crc32(facts));
  later.writeUInt32BE(crc32(later.subarray(5), start), 1);
  return { version, header: later, body, facts };
}
