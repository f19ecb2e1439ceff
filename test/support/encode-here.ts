import { encodeEntry, type RawWrite } from '../../src/reports/cache/entry.js';

/** Encodes cache entries on this thread, however large they are. */
export async function encodeHere(entries: readonly RawWrite[]): Promise<Buffer[]> {
  return entries.map(encodeEntry);
}
