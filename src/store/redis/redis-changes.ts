/**
 * The feed of changes, on the server of the days: a stream, whose entries have a text (`t`) and a number of changes (`c`); and a
 * hash: `inc` incarnation, `created` when it began (milliseconds), `trimmed` id of the last entry that was removed, `count` changes
 * kept. The script that writes a month appends; in a cluster,
 * where the month is in another slot, see redis-outboxes.ts.
 */
import { type Changes, FEED_CHANNEL, type FeedPage, partsOfPosition } from '../changes-port.js';
import { type Bus, whenAway } from '../port.js';
import { appendChange, readChanges, trimChanges } from './changes-scripts.js';
import type { Keys } from './keys.js';
import {
  type Announcing,
  type Calls,
  createOutboxes,
  NOTHING,
  newIncarnation,
  positionIn,
  type Teller,
} from './redis-outboxes.js';

/** Entries that one script removes; so many changes may be kept beyond the limit. */
const TRIMMED_AT_ONCE = 1000;

/**
 * @param days the link of the days, whose time limit is short: a write waits for it
 * @param channelOf the key of a channel; null: the bus is on another server
 */
export function createRedisChanges(
  { link, days }: { readonly link: Calls; readonly days: Calls },
  keys: Pick<Keys, 'changes' | 'days'>,
  bus: Pick<Bus, 'publish'>,
  channelOf: (channel: string) => string | null,
): { readonly changes: Changes; readonly teller: Teller } {
  const feed = [keys.changes.stream, keys.changes.meta];
  const announcing: Announcing = {
    channel: () => channelOf(FEED_CHANNEL) ?? '',
    async rest() {
      // The entry is there; messages may be lost.
      if (channelOf(FEED_CHANNEL) === null) await bus.publish(FEED_CHANNEL, '').catch(whenAway(() => {}));
    },
  };
  const direct: Teller = {
    begin: async () => {},
    keys: (_place, told) => (told === undefined ? [] : feed),
    args: (told) =>
      told === undefined ? NOTHING : [told.text, told.count, newIncarnation(), announcing.channel()],
    async end(places) {
      if (places.length > 0) await announcing.rest();
    },
  };
  const outboxes = createOutboxes({ link, days }, keys, announcing);
  const teller = () => (link.isCluster ? outboxes.teller : direct);

  async function page(from: string, limit: number): Promise<FeedPage> {
    const [incarnation, created, trimmed, first, last, entries] = await readChanges(link, feed, [
      newIncarnation(),
      from,
      limit,
    ]);
    const removed = positionIn(trimmed.toString());
    return {
      incarnation: incarnation.toString(),
      createdMs: Number(created),
      oldestMs: Number.parseInt((first.length > 0 ? first : created).toString('latin1'), 10),
      entries: entries.map(([id, fields]) => ({
        position: positionIn(id.toString()),
        text: (fields[1] ?? '').toString(),
      })),
      // All may be removed.
      last: last.length > 0 ? positionIn(last.toString()) : removed,
      trimmed: removed,
    };
  }
  return {
    changes: {
      read: async (from, limit) => page(partsOfPosition(from).join('-'), limit),
      newest: (limit = 1) => page('', limit),
      async append({ text, count }) {
        await appendChange(link, feed, [newIncarnation(), announcing.channel(), text, count]);
        await announcing.rest();
      },
      async trim(maxChanges) {
        let allowed = TRIMMED_AT_ONCE;
        while ((await trimChanges(link, feed, [maxChanges, allowed, TRIMMED_AT_ONCE])) === 1) allowed = 0;
      },
      async publish(everything, isStopped) {
        if (link.isCluster) await outboxes.publish(everything, isStopped);
      },
    },
    teller: {
      begin: (places) => teller().begin(places),
      keys: (place, told) => teller().keys(place, told),
      args: (told) => teller().args(told),
      end: (places) => teller().end(places),
    },
  };
}
