import Type from 'typebox';
import type { Presence } from '../port.js';
import { byId } from '../present.js';
import { wholeMs } from '../whole-ms.js';
import { nameKey } from './keys.js';
import type { LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const PRESENT = 'p';
const Here = Type.Object({ id: Type.String(), info: Type.String() });

/** Those who are there as records that end. */
export function createLmdbPresence(lapsing: LapsingRecords): Presence {
  return {
    async beat(id, info, ttlMs) {
      const ms = wholeMs(ttlMs, 1);
      await lapsing.change(nameKey(PRESENT, id), () => ({
        result: undefined,
        write: { value: toBytes({ id, info }), endsAtMs: lapsing.now() + ms },
      }));
    },
    async leave(id) {
      await lapsing.change(nameKey(PRESENT, id), (found) =>
        found === null ? { result: undefined } : { result: undefined, write: null },
      );
    },
    async list() {
      return lapsing
        .list(PRESENT)
        .map(({ value }) => fromBytes(Here, value))
        .sort(byId);
    },
  };
}
