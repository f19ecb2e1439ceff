import { createHash } from 'node:crypto';
import Type from 'typebox';
import { checkDocument } from '../document-text.js';
import type { Documents } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { nameKey } from './keys.js';
import type { Lapsing, LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const NOTES = 'n';

/**
 * Documents as records that end, by the digest of their key.
 * @param makeRoom called before a document is written; throws StoreUnavailable of `no-room` where it must not be
 */
export function createLmdbDocuments(lapsing: LapsingRecords, makeRoom: () => Promise<void>): Documents {
  const keyOf = (name: string) => nameKey(NOTES, createHash('sha256').update(name).digest('hex'));
  const lasting = (text: string, ms: number): Lapsing => ({
    value: toBytes(text),
    endsAtMs: lapsing.now() + ms,
  });
  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const ms = wholeMs(ttlMs, 1);
      await makeRoom();
      return await lapsing.change(keyOf(key), (found) =>
        found === null ? { result: null, write: lasting(text, ms) } : { result: textOf(found) },
      );
    },
    async get(key) {
      return lapsing.read(keyOf(key), (found) => (found === null ? null : textOf(found)));
    },
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const ms = after === null ? 0 : wholeMs(ttlMs, 1);
      if (after !== null) await makeRoom();
      return await lapsing.change(keyOf(key), (found) => {
        if (found === null || textOf(found) !== before) return { result: false };
        return { result: true, write: after === null ? null : lasting(after, ms) };
      });
    },
  };
}

const textOf = ({ value }: Lapsing) => fromBytes(Type.String(), value);
