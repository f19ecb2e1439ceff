import { type Decoded, decodeEntries } from '../../../src/reports/cache/entry.js';
import type { CacheEntry } from '../../../src/store/port.js';

/** One entry as it was found under its name. */
export async function decodeOne(id: string, entry: CacheEntry): Promise<Decoded> {
  const [decoded] = await decodeEntries([{ id, entry }]);
  return decoded as Decoded;
}
