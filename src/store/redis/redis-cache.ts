import type { CacheStore } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** Cache entries as plain values with a TTL. */
export function createRedisCache(link: Link, keys: Keys): CacheStore {
  return {
    async getMany(names) {
      if (names.length === 0) return [];
      return await link.call((client) => client.mgetBuffer(names.map(keys.cache)));
    },
    async setMany(entries) {
      if (entries.length === 0) return;
      const writes = entries.map((entry) => ({ ...entry, ttlMs: wholeMs(entry.ttlMs) }));
      await link.call(async (client) => {
        const pipeline = client.pipeline();
        for (const { key, value, ttlMs } of writes) {
          if (ttlMs < 1) pipeline.unlink(keys.cache(key));
          else pipeline.set(keys.cache(key), value, 'PX', ttlMs);
        }
        unwrap(await pipeline.exec());
      });
    },
    async remove(names) {
      if (names.length === 0) return;
      await link.call((client) => client.unlink(names.map(keys.cache)));
    },
  };
}
