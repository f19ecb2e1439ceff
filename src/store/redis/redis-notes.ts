import { checkNote } from '../note-text.js';
import type { Notes } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisNotesOptions extends ReplicaWait {
  readonly keys: Keys;
}

/** Notes as plain values; see durable-scripts.ts. */
export function createRedisNotes(options: RedisNotesOptions): Notes {
  const { link } = options;
  const { ends, note } = options.keys.notes;
  return {
    async create(key, text, ttlMs) {
      checkNote(text);
      const ms = wholeMs(ttlMs, 1);
      const reply = await link.call((client) => client.dgwCreateNote(ends, note(key), text, ms));
      if (reply[0] === 0) return reply[1];
      const [, ...replicas] = reply;
      await awaitReplicas(ends, replicas, { note: key }, options);
      return null;
    },
    async get(key) {
      return await link.call((client) => client.dgwReadNote(ends, note(key)));
    },
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkNote(after);
      const change = after === null ? [] : [after, wholeMs(ttlMs, 1)];
      const replicas = await link.call((client) => client.dgwReplaceNote(ends, note(key), before, change));
      if (replicas === null) return false;
      await awaitReplicas(ends, replicas, { note: key }, options);
      return true;
    },
  };
}
