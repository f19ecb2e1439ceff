import { checkNote } from '../note-text.js';
import { type Notes, StoreUnavailable } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisNotesOptions extends ReplicaWait {
  readonly keys: Keys;
  /** What all notes may have together; Redis is shared with records that must not be refused for their sake. */
  readonly maxBytes: number;
}

/** Notes as plain values; see durable-scripts.ts. */
export function createRedisNotes(options: RedisNotesOptions): Notes {
  const { link, maxBytes } = options;
  const { ends, bytes, note } = options.keys.notes;

  function noRoom(): StoreUnavailable {
    return new StoreUnavailable(`notes may not have more than ${maxBytes} bytes together`, 'no-room');
  }

  return {
    async create(key, text, ttlMs) {
      checkNote(text);
      const ms = wholeMs(ttlMs, 1);
      const reply = await link.call((client) =>
        client.dgwCreateNote(ends, note(key), bytes, text, ms, maxBytes),
      );
      if (reply[0] === 0) return reply[1];
      if (reply[0] === 2) throw noRoom();
      const [, ...replicas] = reply;
      await awaitReplicas(ends, replicas, { note: key }, options);
      return null;
    },
    async get(key) {
      return await link.call((client) => client.dgwReadNote(ends, note(key)));
    },
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkNote(after);
      const change = after === null ? [] : [after, wholeMs(ttlMs, 1), maxBytes];
      const reply = await link.call((client) =>
        client.dgwReplaceNote(ends, note(key), bytes, before, change),
      );
      if (reply[0] === 0) return false;
      if (reply[0] === 2) throw noRoom();
      const [, ...replicas] = reply;
      await awaitReplicas(ends, replicas, { note: key }, options);
      return true;
    },
  };
}
