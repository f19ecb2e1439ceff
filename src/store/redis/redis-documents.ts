import { checkDocument, wholeMs } from '../check-input.js';
import { type Documents, StoreUnavailable } from '../port.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisDocumentsOptions extends ReplicaWait {
  readonly keys: Keys;
  /** What all documents may have together; Redis is shared with records that must not be refused for their sake. */
  readonly maxBytes: number;
}

/** Documents as plain values; see durable-scripts.ts. */
export function createRedisDocuments(options: RedisDocumentsOptions): Documents {
  const { link, maxBytes } = options;
  const { ends, bytes, document } = options.keys.documents;

  function noRoom(): StoreUnavailable {
    return new StoreUnavailable(`documents may not have more than ${maxBytes} bytes together`, 'no-room');
  }

  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const ms = wholeMs(ttlMs, 1);
      const reply = await link.call((client) =>
        client.dgwCreateDocument(ends, document(key), bytes, text, ms, maxBytes),
      );
      if (reply[0] === 0) return reply[1];
      if (reply[0] === 2) throw noRoom();
      const [, ...replicas] = reply;
      await awaitReplicas(ends, replicas, { document: key }, options);
      return null;
    },
    async get(key) {
      return await link.call((client) => client.dgwReadDocument(ends, document(key)));
    },
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const change = after === null ? [] : [after, wholeMs(ttlMs, 1), maxBytes];
      const reply = await link.call((client) =>
        client.dgwReplaceDocument(ends, document(key), bytes, before, change),
      );
      if (reply[0] === 0) return false;
      if (reply[0] === 2) throw noRoom();
      const [, ...replicas] = reply;
      await awaitReplicas(ends, replicas, { document: key }, options);
      return true;
    },
  };
}
