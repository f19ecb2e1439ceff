import { createHash } from 'node:crypto';
import Type from 'typebox';
import { checkNote } from '../note-text.js';
import type { Notes } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { nameKey } from './keys.js';
import type { Lapsing, LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const NOTES = 'n';

/**
 * Notes as records that end, by the digest of their key.
 * @param makeRoom called before a note is written; throws StoreUnavailable of `no-room` where it must not be
 */
export function createLmdbNotes(lapsing: LapsingRecords, makeRoom: () => Promise<void>): Notes {
  const keyOf = (name: string) => nameKey(NOTES, createHash('sha256').update(name).digest('hex'));
  const lasting = (text: string, ms: number): Lapsing => ({
    value: toBytes(text),
    endsAtMs: lapsing.now() + ms,
  });
  return {
    async create(key, text, ttlMs) {
      checkNote(text);
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
      if (after !== null) checkNote(after);
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
