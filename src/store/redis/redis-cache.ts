import type { Clock } from '../../clock.js';
import { byGroup, type CacheGroup } from '../cache-groups.js';
import { type StampedWrite, stampWrite } from '../entry-stamp.js';
import { createKnownFacts } from '../known-facts.js';
import type { CachePlace, CacheStore } from '../port.js';
import type { CacheBound } from './cache-bound.js';
import { BEHIND_HEAD_BYTES, MAKE_WAY, OWN_KEY_ABOVE_BYTES } from './cache-scripts.js';
import type { RedisClient } from './connection.js';
import { answersOf, unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { createCacheReader } from './read-cache.js';
import { encodeVersioned } from './versioned-value.js';

export interface RedisCacheOptions {
  readonly link: Link;
  readonly keys: Keys;
  readonly bound: Pick<CacheBound, 'admit'>;
  /** Ends of entries are told by it. */
  readonly clock: Clock;
}

/**
 * Cache entries as fields of a hash for each group: `h:` the stamp, the header and a small body, `d:` a larger body, `f:`
 * facts by their digest. The hash lives as long as the longest of its entries; each says itself when it is over.
 */
export function createRedisCache({ link, keys, bound, clock }: RedisCacheOptions): CacheStore {
  const known = createKnownFacts();
  const reader = createCacheReader({ link, keys, known, clock });

  async function writeGroup(client: RedisClient, { series, group, members }: CacheGroup<Placed>) {
    const hash = keys.cache(series, group);
    const transaction = client
      .multi()
      .eval(
        MAKE_WAY,
        1 + members.length,
        hash,
        ...members.map(({ write }) => keys.cacheBody(write)),
        Math.floor(clock.now()),
        Math.max(...members.map(({ ttlMs }) => ttlMs)),
        ...members.flatMap((one) => [one.field, one.stamp.version, one.ttlMs < 1 ? '' : headOf(one)]),
      );
    const facts = new Map<string, Buffer>();
    for (const { write, stamp, ttlMs } of members) {
      if (ttlMs < 1) continue;
      facts.set(stamp.facts, write.facts);
      if (write.body.length <= BEHIND_HEAD_BYTES) continue;
      if (write.body.length <= OWN_KEY_ABOVE_BYTES) transaction.hsetnx(hash, `d:${write.field}`, write.body);
      else {
        const value = encodeVersioned(write.body, stamp.version);
        transaction.set(keys.cacheBody(write), value, 'PX', ttlMs, 'NX');
      }
    }
    for (const [digest, bytes] of facts) transaction.hsetnx(hash, `f:${digest}`, bytes);
    unwrap(await transaction.exec());
  }

  return {
    // What was sent before is done before: commands of one series go to one server, over one connection.
    read: (places) => reader.read(places),
    async write(entries) {
      if (entries.length === 0) return;
      const nowMs = clock.now();
      const writes = entries.map((write): Placed => ({ ...placeOf(write), ...stampWrite(write, nowMs) }));
      await bound.admit(writes.reduce((sum, one) => sum + bytesOf(one), 0));
      await link.call((client) => Promise.all(byGroup(writes).map((group) => writeGroup(client, group))));
      for (const { stamp, write } of writes) known.add(stamp.facts, write.facts);
    },
    async remove(places) {
      if (places.length === 0) return;
      await link.call(async (client) => {
        const pipeline = client.pipeline();
        for (const { series, group, members } of byGroup(places)) {
          pipeline.hdel(
            keys.cache(series, group),
            ...members.flatMap(({ field }) => [`h:${field}`, `d:${field}`]),
          );
          pipeline.unlink(...members.map(keys.cacheBody));
        }
        answersOf(await pipeline.exec());
      });
    },
  };
}

type Placed = StampedWrite & CachePlace;

function placeOf({ series, group, field }: CachePlace): CachePlace {
  return { series, group, field };
}

/** With a small body behind it. */
function headOf({ head, write: { body } }: StampedWrite): Buffer {
  return body.length <= BEHIND_HEAD_BYTES ? Buffer.concat([head, body]) : head;
}

function bytesOf({ head, write }: StampedWrite): number {
  return head.length + write.body.length + write.facts.length;
}
