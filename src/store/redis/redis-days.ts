/**
 * The days of reports, on the server of the registry: a hash for each series and month. Its fields: `i` stamp, checksum, table
 * of parts, index; `e:07` earlier revisions of a day; `p:name` a part. Checksums cover key, field and value. The locks of a
 * series are a hash. Two sorted sets have the months of all series: by name, and by the day of their last use.
 */
import type {
  DaysRoom,
  DaysStore,
  MonthPlace,
  MonthWrite,
  StoredMonth,
  WantedMonth,
  WholeMonth,
  Written,
} from '../days-port.js';
import { withTable } from '../month-table.js';
import { type Bus, type BusMessage, StoreUnavailable, whenAway } from '../port.js';
import { newStamp, STAMP_BYTES, stampBytes } from '../stamp.js';
import {
  claimDays,
  type MonthReply,
  readDays,
  releaseDays,
  removeDays,
  renewDays,
  writeDays,
} from './days-scripts.js';
import { unavailable } from './failure.js';
import { type DaysKeys, memberOf, placeOfMember } from './keys.js';
import type { Link } from './link.js';
import { createRoom, type Memory, USED_PART } from './memory.js';
import type { Teller } from './redis-outboxes.js';
import { pairsOf } from './script.js';
import { indexIn, opened, sealed } from './sealed.js';
import { walkKeys } from './walk-keys.js';

/** Larger parts are sent ahead of the script, as it copies its arguments. */
const AHEAD_BYTES = 32_768;
/** More months would delay other commands of the server. */
const MONTHS_AT_ONCE = 4;
/** A month that is written faster than it is read as a whole is busy with fetches. */
const WHOLE_TRIES = 5;

export interface DaysNews {
  readonly bus: Pick<Bus, 'publish'>;
  /** The key of a channel, so that a write tells its news itself; null: the bus is on another server. */
  readonly channelOf: (channel: string) => string | null;
  /** Of the feed of changes. */
  readonly teller: Teller;
}

export function createRedisDays(
  { link, memory }: { readonly link: Link; readonly memory: Memory },
  keys: DaysKeys,
  { bus, channelOf, teller }: DaysNews,
): DaysStore {
  const takeRoom = createRoom(memory, 'days of reports', USED_BY_DAYS);
  const read = createReads(link, keys);
  const news: News = {
    args: (told) => (told === undefined ? ['', ''] : [channelOf(told.channel) ?? '', told.message]),
    async tell(told) {
      if (told !== undefined && channelOf(told.channel) === null)
        // The write is made; messages may be lost.
        await bus.publish(told.channel, told.message).catch(whenAway(() => {}));
    },
  };
  const writeMonth = createWriteMonth(link, keys, read, news, teller);
  return {
    ...createLocks(link, keys, news),
    ...createList(link, keys, teller),
    async read(series, wanted) {
      const some = Array.from({ length: Math.ceil(wanted.length / MONTHS_AT_ONCE) }, (_, at) =>
        read.some(series, wanted.slice(at * MONTHS_AT_ONCE, (at + 1) * MONTHS_AT_ONCE)),
      );
      return (await Promise.all(some)).flat();
    },
    parts: read.parts,
    earlier: read.earlier,
    whole: read.whole,
    async write(writes) {
      // All or none: which of them were made could not be told.
      const added = writes.reduce((sum, write) => sum + bytesAdded(write), 0);
      if (added > 0) takeRoom(added);
      const fresh = writes.filter(({ stamp }) => stamp === 0).flatMap((write) => ['0', memberOf(write)]);
      const list = async () => {
        if (fresh.length > 0) await link.call('zadd', (client) => client.zadd(keys.months, ...fresh));
      };
      // First: nobody would find a month that is not in the list.
      await Promise.all([list(), teller.begin(writes.filter(({ told }) => told !== undefined))]);
      const written = writes.map(writeMonth);
      const ends = await Promise.allSettled(written);
      const isTold = ({ told }: MonthWrite, at: number) => {
        const end = ends[at];
        return told !== undefined && end?.status === 'fulfilled' && end.value === null;
      };
      await teller.end(writes.filter(isTold));
      // Again: a removal of the former month may have taken it off the list meanwhile. The daily search finds what this misses.
      await list().catch(whenAway(() => {}));
      return await Promise.all(written);
    },
    room: () => roomIn(memory),
  };
}

/** Of `maxmemory`: what may be used of it by all before no days are written. Teams, tokens and purges must be writable. */
const USED_BY_DAYS = 0.9;

/** What removes, or changes only the index of a month that is there, needs no room. */
function bytesAdded({ stamp, index, parts, earlier, isRemoval }: MonthWrite): number {
  if (isRemoval) return 0;
  const added = [...parts.values(), ...earlier.values()].reduce((sum, one) => sum + (one?.length ?? 0), 0);
  return added > 0 || stamp === 0 ? added + index.length : 0;
}

function roomIn({ latest }: Memory): DaysRoom | null {
  const limited = latest.filter(({ maxBytes }) => maxBytes > 0);
  if (limited.length === 0) return null;
  return {
    maxBytes: limited.reduce((sum, { maxBytes }) => sum + maxBytes, 0),
    excessBytes: Math.max(...limited.map(({ usedBytes, maxBytes }) => usedBytes - maxBytes * USED_PART)),
  };
}

interface News {
  /** Key of the channel and message, for a script; empty: it tells nothing. */
  args(told: BusMessage | undefined): [channel: string, message: string];
  /** What a script could not tell. */
  tell(told: BusMessage | undefined): Promise<void>;
}

function monthIn(hash: string, reply: MonthReply): StoredMonth | null {
  const [value] = reply;
  if (!Buffer.isBuffer(value) || value.length < STAMP_BYTES) return null;
  return { ...indexIn(hash, value), ...fieldsIn(hash, reply) };
}

function fieldsIn(hash: string, [, names = [], values = []]: MonthReply) {
  const parts = new Map<string, Buffer>();
  const earlier = new Map<number, Buffer | null>();
  for (const [at, name] of names.entries()) {
    const [field, value] = [name.toString('latin1'), values[at] ?? null];
    if (value === null) continue;
    const bytes = opened(hash, field, value);
    if (field.startsWith(EARLIER)) earlier.set(dayIn(field), bytes);
    else if (bytes !== null) parts.set(field.slice(PART.length), bytes);
  }
  return { parts, earlier };
}

function createReads(link: Link, keys: DaysKeys) {
  async function valuesOf(hash: string, fields: readonly string[]): Promise<readonly (Buffer | null)[]> {
    if (fields.length === 0) return [];
    return await link.call('hmget', (client) => client.hmgetBuffer(hash, ...fields));
  }

  /** Index and earlier revisions, in one command. */
  async function earlier(place: MonthPlace, days: readonly number[]) {
    const hash = keys.month(place.series, place.month);
    const [index, ...values] = await valuesOf(hash, ['i', ...days.map(earlierField)]);
    if (index === undefined || index === null || index.length < STAMP_BYTES) return null;
    const found = new Map<number, Buffer | null>();
    for (const [at, day] of days.entries()) {
      const value = values[at] ?? null;
      if (value !== null) found.set(day, opened(hash, earlierField(day), value));
    }
    return { ...indexIn(hash, index), earlier: found };
  }

  return {
    earlier,
    async some(series: string, wanted: readonly WantedMonth[]): Promise<(StoredMonth | null)[]> {
      const hashes = wanted.map(({ month }) => keys.month(series, month));
      const args = wanted.flatMap(({ days, withEarlier }) => [Buffer.from(days), withEarlier ? 1 : 0]);
      const replies = await readDays(link, hashes, args);
      return hashes.map((hash, at) => monthIn(hash, replies[at] ?? [null]));
    },
    async parts(
      { series, month }: MonthPlace,
      names: readonly string[],
    ): Promise<ReadonlyMap<string, Buffer>> {
      const hash = keys.month(series, month);
      const fields = names.map((name) => PART + name);
      const values = await valuesOf(hash, fields);
      const found = new Map<string, Buffer>();
      for (const [at, name] of names.entries()) {
        const part = opened(hash, PART + name, values[at] ?? null);
        if (part !== null) found.set(name, part);
      }
      return found;
    },
    async whole(place: MonthPlace): Promise<WholeMonth | null> {
      const hash = keys.month(place.series, place.month);
      let [before, found] = [await earlier(place, []), null as Awaited<ReturnType<typeof earlier>>];
      let fields: readonly string[] = [];
      for (let tries = 0; ; tries += 1) {
        fields = await link.call('hkeys', (client) => client.hkeys(hash));
        const days = fields.flatMap((field) => (field.startsWith(EARLIER) ? [dayIn(field)] : []));
        found = await earlier(place, days);
        // Else a write came in between: fields of its index may not be among these.
        if (before?.stamp === found?.stamp) break;
        if (tries === WHOLE_TRIES) throw unavailable('the month was written whenever it was read');
        before = found;
      }
      if (found === null && fields.length === 0) return null;
      const parts = await Promise.all(
        fields
          .filter((field) => field.startsWith(PART))
          .map(async (field): Promise<[string, number]> => {
            const bytes = await link.call('hstrlen', (client) => client.hstrlen(hash, field));
            return [field.slice(PART.length), bytes];
          }),
      );
      return { ...(found ?? { stamp: 0, index: null, earlier: new Map() }), parts: new Map(parts) };
    },
  };
}

function createWriteMonth(
  link: Link,
  keys: DaysKeys,
  read: ReturnType<typeof createReads>,
  news: News,
  teller: Teller,
) {
  return async (write: MonthWrite): Promise<Written> => {
    const { series, month, stamp, release, told } = write;
    const hash = keys.month(series, month);
    const index = Buffer.concat([stampBytes(newStamp()), sealed(hash, 'i', withTable(write))]);
    const { ahead, set, removed } = fieldsOf(hash, write);
    // Awaited: an index never names a part that is not there.
    if (ahead.length > 0) await link.call('hset', (client) => client.hset(hash, new Map(ahead)));
    const answer = await writeDays(
      link,
      [hash, keys.locks(series), ...teller.keys(write, told)],
      [
        stampArg(stamp),
        index,
        endOf(write),
        ...[ahead.length, set.length, removed.length, write.isRemoval ? 1 : 0],
        ...teller.args(told),
        ...ahead.map(([field]) => field),
        ...set.flat(),
        ...removed,
        ...news.args(release?.news),
        release?.owner ?? '',
        ...(release?.names ?? []),
      ],
    );
    if (answer === -1) throw new StoreUnavailable('a large part did not reach Redis');
    if (answer === 0) {
      const days = [...write.earlier.keys()];
      return (await read.some(series, [{ month, days, withEarlier: true }]))[0] ?? 'none';
    }
    await news.tell(release?.news);
    return null;
  };
}

/** For scripts; empty: there is no index. */
const stampArg = (stamp: number) => (stamp === 0 ? '' : stampBytes(stamp));

/** For the script. */
function endOf({ ttlMs, isEnding }: MonthWrite): number | '' {
  if (ttlMs === null) return '';
  return isEnding ? -Math.ceil(ttlMs) : Math.ceil(ttlMs);
}

type Field = readonly [name: string, value: Buffer];

/** @returns fields to send ahead, to set with the index, and to remove */
function fieldsOf(hash: string, { parts, earlier, dropped }: MonthWrite) {
  const ahead: Field[] = [];
  const set: Field[] = [];
  const removed = dropped.map((name) => PART + name);
  for (const [name, bytes] of parts) {
    const field: Field = [PART + name, sealed(hash, PART + name, bytes)];
    (bytes.length > AHEAD_BYTES ? ahead : set).push(field);
  }
  for (const [day, bytes] of earlier) {
    const name = earlierField(day);
    if (bytes === null) removed.push(name);
    else set.push([name, sealed(hash, name, bytes)]);
  }
  return { ahead, set, removed };
}

function createLocks(link: Link, keys: DaysKeys, news: News): Pick<DaysStore, 'claim' | 'renew' | 'release'> {
  return {
    async claim(series, { owner, names, leaseMs, known }) {
      const hashes = known.map(({ month }) => keys.month(series, month));
      const [order, held, months, clockUs] = await claimDays(
        link,
        [keys.locks(series), ...hashes],
        [
          ...[owner, Math.ceil(leaseMs), names.length],
          ...names,
          ...known.flatMap(({ stamp, days }) => [stampArg(stamp), Buffer.from(days)]),
        ],
      );
      const changed = new Map<string, StoredMonth | null>();
      const earlier = new Map<string, StoredMonth['earlier']>();
      for (const [at, { month, stamp }] of known.entries()) {
        const hash = hashes[at] ?? '';
        const reply: MonthReply = months[at] ?? [null];
        earlier.set(month, fieldsIn(hash, reply).earlier);
        const present = monthIn(hash, reply);
        if (reply[0] !== 0 && (present?.stamp ?? 0) !== stamp) changed.set(month, present);
      }
      const given = { order: Number(order), clockUs: Number(clockUs) };
      return { held: held.map((one) => one === 1), ...given, changed, earlier };
    },
    async renew(series, { owner, names, leaseMs }) {
      const held = await renewDays(link, [keys.locks(series)], [owner, Math.ceil(leaseMs), ...names]);
      return held.map((one) => one === 1);
    },
    async release(series, { owner, names, news: told }) {
      await releaseDays(link, [keys.locks(series)], [...news.args(told), owner, ...names]);
      await news.tell(told);
    },
  };
}

function createList(
  link: Link,
  keys: DaysKeys,
  teller: Teller,
): Pick<DaysStore, 'used' | 'unused' | 'months' | 'remove' | 'relist'> {
  return {
    async used(months, day) {
      if (months.length === 0) return;
      const members = months.flatMap((one) => [`${day}`, memberOf(one)]);
      await link.call('zadd', (client) => client.zadd(keys.uses, 'GT', ...members));
    },
    async unused(limit) {
      const found = await link.call('zrange', (client) =>
        client.zrange(keys.uses, 0, `${limit - 1}`, 'WITHSCORES'),
      );
      return pairsOf(found).map(([member, day]) => ({ ...placeOfMember(member), usedOn: Number(day) }));
    },
    async months(after, limit) {
      const from = after === null ? '-' : `(${memberOf(after)}`;
      const found = await link.call('zrangebylex', (client) =>
        client.zrangebylex(keys.months, from, '+', 'LIMIT', 0, limit),
      );
      return found.map(placeOfMember);
    },
    async remove(place, stamp, told) {
      const [hash, member] = [keys.month(place.series, place.month), memberOf(place)];
      if (told !== undefined) await teller.begin([place]);
      const all = [hash, ...teller.keys(place, told)];
      if ((await removeDays(link, all, [stampArg(stamp), ...teller.args(told)])) === 0) return false;
      if (told !== undefined) await teller.end([place]);
      await link.call('zrem', (client) => client.zrem(keys.months, member));
      await link.call('zrem', (client) => client.zrem(keys.uses, member));
      // Written since: its writer may have put it into the list before it was taken off.
      if ((await link.call('exists', (client) => client.exists(hash))) > 0)
        await link.call('zadd', (client) => client.zadd(keys.months, 0, member));
      return true;
    },
    relist: (isStopped) => relist(link, keys, isStopped),
  };
}

async function relist(link: Link, keys: DaysKeys, isStopped: () => boolean): Promise<number> {
  let count = 0;
  for await (const found of walkKeys(link, keys.anyMonth, isStopped)) {
    const members = found.keys.map((key) => memberOf(keys.placeOf(key)));
    const scores = await link.call('zmscore', (client) => client.zmscore(keys.months, members));
    // A full Redis refuses the command even if none is missing.
    const missing = members.filter((_member, at) => scores[at] === null).flatMap((member) => ['0', member]);
    if (missing.length > 0)
      count += Number(await link.call('zadd', (client) => client.zadd(keys.months, 'NX', ...missing)));
  }
  return count;
}

const [EARLIER, PART] = ['e:', 'p:'];

const dayIn = (field: string) => Number(field.slice(EARLIER.length));
const earlierField = (day: number) => EARLIER + String(day).padStart(2, '0');
