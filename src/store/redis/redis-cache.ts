/** Cache entries in Redis, a key for each: version (6 bytes, big endian) and bytes. They expire by themselves. */
import { wholeMs, wholeVersion } from '../check-input.js';
import { type CacheEntry, type CacheStore, VERSION_LEAD_MAX_MS } from '../port.js';
import { readValues } from './batches.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import type { CacheBound } from './memory.js';

const VERSION_BYTES = 6;

/**
 * Deletes an entry that a new one replaces, as `replaces` of the port says. The new one follows in the same transaction, as a
 * plain command that sets absent keys only: Lua would copy it twice more. The text is sent each time, as a transaction
 * cannot be repeated if the server has lost the script. KEYS: the entry. ARGV: the new version, and the latest that a
 * present one may have.
 */
const MAKE_WAY = `
local head, version, present = redis.pcall('GETRANGE', KEYS[1], 0, ${VERSION_BYTES - 1}), tonumber(ARGV[1]), -1
if type(head) == 'string' and #head == ${VERSION_BYTES} then
  present = 0
  for at = 1, ${VERSION_BYTES} do present = present * 256 + string.byte(head, at) end
end
if present <= version or present > tonumber(ARGV[2]) then redis.call('UNLINK', KEYS[1]) end`;

export function createRedisCache(link: Link, keys: Keys, bound: Pick<CacheBound, 'admit'>): CacheStore {
  return {
    // What was sent before is done before: commands of one series go to one server, over one connection.
    async read(ids) {
      if (ids.length === 0) return [];
      const values = await link.call('mget', (client) => readValues(client, ids.map(keys.cache)));
      return values.map(entryIn);
    },
    async write(entries) {
      if (entries.length === 0) return;
      const writes = entries.map(({ id, version, bytes, ttlMs, atMs = version }) => ({
        key: keys.cache(id),
        version: wholeVersion(version),
        ttlMs: wholeMs(ttlMs),
        bytes,
        latest: Math.max(wholeVersion(version), Math.floor(atMs)) + VERSION_LEAD_MAX_MS,
      }));
      await bound.admit(writes.reduce((sum, { bytes }) => sum + bytes.length, 0));
      await link.call('multi', async (client) => {
        const transaction = client.multi();
        for (const { key, version, latest, ttlMs, bytes } of writes) {
          transaction.eval(MAKE_WAY, 1, key, version, latest);
          if (ttlMs < 1) continue;
          const front = Buffer.alloc(VERSION_BYTES);
          front.writeUIntBE(version, 0, VERSION_BYTES);
          transaction.set(key, Buffer.concat([front, bytes]), 'PX', ttlMs, 'NX');
        }
        answersOf(await transaction.exec());
      });
    },
  };
}

function entryIn(value: Buffer | null): CacheEntry | null {
  if (value === null || value.length < VERSION_BYTES) return null;
  return { version: value.readUIntBE(0, VERSION_BYTES), bytes: value.subarray(VERSION_BYTES) };
}
