import { crc32 } from 'node:zlib';
import type { CacheEntry } from '../../src/store/port.js';

/** The entry as a later release may write it: another format, a longer header, a checksum that is right. */
export function laterFormat(id: string, { version, header, body, facts }: CacheEntry): CacheEntry {
  const later = Buffer.concat([header, Buffer.from([1, 2, 3])]);
  later[0] = 2;
  const start = crc32(`${id} ${version}:2:${later.length}`, crc32(facts));
  later.writeUInt32BE(crc32(later.subarray(5), start), 1);
  return { version, header: later, body, facts };
}
