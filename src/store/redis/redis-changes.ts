/**
 * The feed of changes, on the server of the days: a stream, whose entries have a text (`t`) and a number of changes (`c`); and a
 * hash: `inc` incarnation, `created` when it began (milliseconds), `trimmed` id of the last entry that was removed, `count` changes
 * kept. The script that writes a month appends.
 */
import { randomBuffer } from '../../lib/chance.js';
import {
  type Changes,
  FEED_CHANNEL,
  FEED_START,
  type FeedPage,
  partsOfPosition,
  positionOf,
  type Told,
} from '../changes-port.js';
import type { MonthPlace } from '../days-port.js';
import { type Bus, whenAway } from '../port.js';
import { appendChange, readChanges, trimChanges } from './changes-scripts.js';
import type { ChangesKeys } from './keys.js';
import type { Link } from './link.js';

/** Entries that one script removes; so many changes may be kept beyond the limit. */
const TRIMMED_AT_ONCE = 1000;
const INCARNATION_BYTES = 8;

/** How a write of days tells. */
export interface Teller {
  /** For the script: further keys, and arguments. */
  keys(place: MonthPlace, told: Told | undefined): readonly string[];
  args(told: Told | undefined): readonly (string | number)[];
  /** After the writes of these months. */
  end(places: readonly MonthPlace[]): Promise<void>;
}

/** @param channelOf the key of a channel; null: the bus is on another server */
export function createRedisChanges(
  link: Link,
  keys: ChangesKeys,
  bus: Pick<Bus, 'publish'>,
  channelOf: (channel: string) => string | null,
): { readonly changes: Changes; readonly teller: Teller } {
  const feed = [keys.stream, keys.meta];
  const channel = () => channelOf(FEED_CHANNEL) ?? '';
  const announce = async () => {
    // The entry is there; messages may be lost.
    if (channel() === '') await bus.publish(FEED_CHANNEL, '').catch(whenAway(() => {}));
  };
  async function page(from: string, limit: number): Promise<FeedPage> {
    const [incarnation, created, trimmed, first, last, entries] = await readChanges(link, feed, [
      newIncarnation(),
      from,
      limit,
    ]);
    const removed = positionIn(trimmed);
    return {
      incarnation: incarnation.toString(),
      createdMs: Number(created),
      oldestMs: Number.parseInt((first.length > 0 ? first : created).toString('latin1'), 10),
      entries: entries.map(([id, fields]) => ({
        position: positionIn(id),
        text: (fields[1] ?? '').toString(),
      })),
      // All may be removed.
      last: last.length > 0 ? positionIn(last) : removed,
      trimmed: removed,
    };
  }
  return {
    changes: {
      read: async (from, limit) => page(idOf(from), limit),
      newest: () => page('', 1),
      async append({ text, count }) {
        await appendChange(link, feed, [newIncarnation(), channel(), text, count]);
        await announce();
      },
      async trim(maxChanges) {
        let allowed = TRIMMED_AT_ONCE;
        while ((await trimChanges(link, feed, [maxChanges, allowed, TRIMMED_AT_ONCE])) === 1) allowed = 0;
      },
      // A write appends by itself.
      publish: async () => {},
    },
    teller: {
      keys: (_place, told) => (told === undefined ? [] : feed),
      args: (told) =>
        told === undefined ? ['', 0, '', ''] : [told.text, told.count, newIncarnation(), channel()],
      async end(places) {
        if (places.length > 0) await announce();
      },
    },
  };
}

const newIncarnation = () => randomBuffer(INCARNATION_BYTES).toString('hex');

/** Of an id of Redis. */
function positionIn(id: Buffer): string {
  if (id.length === 0) return FEED_START;
  const [high, low] = id.toString('latin1').split('-');
  return positionOf(Number(high), Number(low));
}

const idOf = (position: string) => partsOfPosition(position).join('-');
