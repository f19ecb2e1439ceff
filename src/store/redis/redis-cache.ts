import { wholeVersion } from '../entry-version.js';
import type { CacheStore } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import type { CacheBound } from './cache-bound.js';
import { MAKE_WAY } from './data-scripts.js';
import { unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { decodeVersioned, encodeVersioned } from './versioned-value.js';

/** Cache entries as plain values with a TTL, their version in front. */
export function createRedisCache(link: Link, keys: Keys, bound: Pick<CacheBound, 'admit'>): CacheStore {
  return {
    async getMany(names) {
      if (names.length === 0) return [];
      const found = await link.call((client) => client.mgetBuffer(names.map(keys.cache)));
      return found.map(decodeVersioned);
    },
    async setMany(entries) {
      if (entries.length === 0) return;
      const writes = entries.map(({ key, value, ttlMs, version }) => ({
        key: keys.cache(key),
        value,
        ttlMs: wholeMs(ttlMs),
        version: wholeVersion(version),
      }));
      await bound.admit(writes.reduce((sum, { value }) => sum + value.length, 0));
      await link.call(async (client) => {
        const names = writes.map(({ key }) => key);
        const transaction = client
          .multi()
          .eval(MAKE_WAY, names.length, ...names, ...writes.map(({ version }) => version));
        for (const { key, value, ttlMs, version } of writes) {
          if (ttlMs >= 1) transaction.set(key, encodeVersioned(value, version), 'PX', ttlMs, 'NX');
        }
        unwrap(await transaction.exec());
      });
    },
    async remove(names) {
      if (names.length === 0) return;
      await link.call((client) => client.unlink(names.map(keys.cache)));
    },
  };
}
