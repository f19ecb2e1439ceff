/** History, cache entries and pins as earlier releases had them, in Redis. A later release removes this file. */
import { type OldPinStore, readOldRows } from '../pins-port.js';
import type { RemovedLayout } from '../port.js';
import { newStamp, STAMP_BYTES, stampBytes, stampOf } from '../stamp.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { script } from './script.js';
import { walkKeys } from './walk-keys.js';

/** Fields of the entries in a hash; the others are what they share, and bodies. */
const ENTRY = 'h:';

export async function removeOldLayout(
  data: Link,
  registry: Link,
  { months, history, cache }: Keys['oldLayout'],
  isStopped: () => boolean,
): Promise<RemovedLayout> {
  const removed = await removeKeys(registry, history, isStopped);
  if (!isStopped()) await registry.call('unlink', (client) => client.unlink(months));
  let cacheEntries = 0;
  for (const pattern of cache) cacheEntries += (await removeKeys(data, pattern, isStopped)).entries;
  return { months: removed.hashes, cacheEntries };
}

/** @returns numbers of hashes that had fields, and of entries of the cache in them */
async function removeKeys(link: Link, pattern: string, isStopped: () => boolean) {
  const counts = { hashes: 0, entries: 0 };
  for await (const { server, keys } of walkKeys(link, pattern, isStopped)) {
    const answers = await link.call('pipeline', async () => {
      const pipeline = server.pipeline();
      // One by one, as the keys of a cluster node are in several slots.
      for (const key of keys) pipeline.hkeys(key).unlink(key);
      return answersOf(await pipeline.exec());
    });
    for (const fields of answers) {
      if (!Array.isArray(fields) || fields.length === 0) continue;
      counts.hashes += 1;
      counts.entries += fields.filter((field) => String(field).startsWith(ENTRY)).length;
    }
  }
  return counts;
}

// Old pins on the server of the registry: a hash for each owner, and a sorted set of all owners. Fields of a hash: `01` the stamp
// (6 bytes) and the index; `01:name` rows; `f:digest` their facts.

const INDEX = '01';
/** Of the members of the set, before the owner. */
const MONTH = '2000-01 ';

/** KEYS: the hash. ARGV: expected stamp; the new index; deleted fields. 1 or 0. */
const writeOldPins = script<number>('dgwWriteOldPins')`
local hash = KEYS[1]
if string.sub(redis.call('HGET', hash, '${INDEX}') or '', 1, ${STAMP_BYTES}) ~= ARGV[1] then return 0 end
redis.call('HSET', hash, '${INDEX}', ARGV[2])
for at = 3, #ARGV do redis.call('HDEL', hash, ARGV[at]) end
return 1`;

export function createRedisOldPins(link: Link, { owners, pins }: Keys['oldPins']): OldPinStore {
  const valuesOf = async (owner: string, fields: readonly string[]) =>
    fields.length === 0
      ? []
      : await link.call('hmget', (client) => client.hmgetBuffer(pins(owner), ...fields));
  return {
    async index(owner) {
      const [value = null] = await valuesOf(owner, [INDEX]);
      if (value === null || value.length < STAMP_BYTES) return null;
      return { stamp: stampOf(value), bytes: value.subarray(STAMP_BYTES) };
    },
    async rows(owner, names) {
      const values = await valuesOf(
        owner,
        names.map((name) => `${INDEX}:${name}`),
      );
      const found = values.map(readOldRows);
      const digests = [...new Set(found.flatMap((one) => one?.digest ?? []))];
      const facts = await valuesOf(
        owner,
        digests.map((digest) => `f:${digest}`),
      );
      return found.map((one) => {
        const shared = one === null ? null : (facts[digests.indexOf(one.digest)] ?? null);
        return one === null || shared === null ? null : { ...one, facts: shared };
      });
    },
    async write(owner, { stamp, bytes }, removed) {
      const next = Buffer.concat([stampBytes(newStamp()), bytes]);
      const gone = removed.map((name) => `${INDEX}:${name}`);
      return (await writeOldPins(link, [pins(owner)], [stampBytes(stamp), next, ...gone])) === 1;
    },
    async owners(after, limit) {
      const from = after === null ? '-' : `(${MONTH}${after}`;
      const found = await link.call('zrangebylex', (client) =>
        client.zrangebylex(owners, from, '+', 'LIMIT', 0, limit),
      );
      return found.map((member) => member.slice(MONTH.length));
    },
    async remove(owner) {
      await link.call('unlink', (client) => client.unlink(pins(owner)));
      await link.call('zrem', (client) => client.zrem(owners, `${MONTH}${owner}`));
    },
  };
}
