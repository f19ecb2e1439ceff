import { crc32 } from 'node:zlib';
import type { CacheEntry } from '../../../src/store/port.js';

/** The entry as a later release may write it: another form, a checksum that is right. */
export function laterForm(id: string, { version, bytes }: CacheEntry): CacheEntry {
  const later = Buffer.concat([bytes, Buffer.from([1, 2, 3])]);
  later[0] = (bytes[0] as number) + 1;
  later.writeUInt32BE(crc32(`${id} ${version}:${later[0]}`, crc32(later.subarray(5))), 1);
  return { version, bytes: later };
}
