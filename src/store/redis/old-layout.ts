/** History and cache entries as earlier releases had them, in Redis. A later release removes this file. */
import type { RemovedLayout } from '../port.js';
import { serversOf } from './connect.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** Keys that one command visits. */
const AT_ONCE = 500;
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

/** On each server of a cluster. @returns numbers of hashes that had fields, and of entries of the cache in them */
async function removeKeys(link: Link, pattern: string, isStopped: () => boolean) {
  const counts = { hashes: 0, entries: 0 };
  for (const server of await link.call('ping', async (client) => serversOf(client)))
    for (let [cursor, isOver] = ['0', false]; !isOver && !isStopped(); isOver = cursor === '0') {
      const found = await link.call('scan', () => server.scan(cursor, 'MATCH', pattern, 'COUNT', AT_ONCE));
      cursor = found[0];
      const answers = await link.call('pipeline', async () => {
        const pipeline = server.pipeline();
        // One by one, as the keys of a cluster node are in several slots.
        for (const key of found[1]) pipeline.hkeys(key).unlink(key);
        return found[1].length === 0 ? [] : answersOf(await pipeline.exec());
      });
      for (const fields of answers) {
        if (!Array.isArray(fields) || fields.length === 0) continue;
        counts.hashes += 1;
        counts.entries += fields.filter((field) => String(field).startsWith(ENTRY)).length;
      }
    }
  return counts;
}
