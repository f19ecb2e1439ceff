import type { Presence } from '../port.js';
import { byId } from '../present.js';
import { wholeMs } from '../whole-ms.js';
import { unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** A key for each that expires, and a set of their ids, to find them by. */
export function createRedisPresence(link: Link, { presence }: Keys): Presence {
  const keyOf = (id: string) => `${presence}:${id}`;
  return {
    async beat(id, info, ttlMs) {
      const ms = wholeMs(ttlMs, 1);
      await link.call((client) => client.dgwBeat(presence, keyOf(id), id, info, ms));
    },
    async leave(id) {
      await link.call(async (client) =>
        unwrap(await client.pipeline().del(keyOf(id)).srem(presence, id).exec()),
      );
    },
    async list() {
      const flat = await link.call((client) => client.dgwPresent(presence));
      const present = flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, info: flat[at + 1] ?? '' }] : []));
      return present.sort(byId);
    },
  };
}
