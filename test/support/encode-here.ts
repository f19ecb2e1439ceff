import { type EncodedEntry, encodeEntry } from '../../src/cache/entry.js';
import type { RawWrite } from '../../src/cache/tier.js';

/** Encodes cache entries on this thread, however large they are. */
export async function encodeHere(entries: readonly RawWrite[]): Promise<EncodedEntry[]> {
  return entries.map(({ version, header, body }) => encodeEntry(version, header, body));
}
