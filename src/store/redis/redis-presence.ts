import { wholeMs } from '../check-input.js';
import type { Presence } from '../port.js';
import { byId } from '../present.js';
import { unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** A key for each, a set of their ids, to find them by, and the ends of both; see data-scripts.ts. */
export function createRedisPresence(link: Link, { presence: { ends, ids } }: Keys): Presence {
  const keyOf = (id: string) => `${ids}:${id}`;
  return {
    async beat(id, info, ttlMs) {
      const ms = wholeMs(ttlMs, 1);
      await link.call((client) => client.dgwBeat(ends, ids, keyOf(id), id, info, ms));
    },
    async leave(id) {
      await link.call(async (client) =>
        unwrap(await client.pipeline().del(keyOf(id)).srem(ids, id).zrem(ends, keyOf(id)).exec()),
      );
    },
    async list() {
      const flat = await link.call((client) => client.dgwPresent(ends, ids));
      const present = flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, info: flat[at + 1] ?? '' }] : []));
      return present.sort(byId);
    },
  };
}
