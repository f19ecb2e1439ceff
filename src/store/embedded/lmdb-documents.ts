import { createHash } from 'node:crypto';
import Type from 'typebox';
import { checkDocument, wholeMs } from '../check-input.js';
import type { Documents } from '../port.js';
import { createLapsingTable, type LapsingRecords } from './lapsing.js';

/**
 * Documents as records that end, by the digest of their key.
 * @param makeRoom called before a document is written; throws StoreUnavailable of `no-room` where it must not be
 */
export function createLmdbDocuments(lapsing: LapsingRecords, makeRoom: () => Promise<void>): Documents {
  const texts = createLapsingTable(lapsing, 'n', Type.String());
  const nameOf = (key: string) => createHash('sha256').update(key).digest('hex');
  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const ms = wholeMs(ttlMs, 1);
      await makeRoom();
      return await texts.change(nameOf(key), (found) =>
        found === null ? { result: null, write: texts.lasting(text, ms) } : { result: found.value },
      );
    },
    get: async (key) => texts.get(nameOf(key)),
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const ms = after === null ? 0 : wholeMs(ttlMs, 1);
      if (after !== null) await makeRoom();
      return await texts.change(nameOf(key), (found) => {
        if (found?.value !== before) return { result: false };
        return { result: true, write: after === null ? null : texts.lasting(after, ms) };
      });
    },
  };
}
