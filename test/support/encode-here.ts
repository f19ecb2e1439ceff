import { type EncodedEntry, encodeEntry, type RawWrite } from '../../src/reports/cache/entry.js';

/** Encodes cache entries on this thread, however large they are. */
export async function encodeHere(entries: readonly RawWrite[]): Promise<EncodedEntry[]> {
  return entries.map(encodeEntry);
}
