/**
 * The history of reports, on the server of the registry: a hash for each series and month, and a sorted set of all months,
 * to find the oldest. Fields of a hash: `07` the stamp (6 bytes) and heads of a day; `07:name` its rows, `f:digest` their
 * facts; `p:name` a pack with the rows of several days, see history-content.ts. Nothing expires by itself.
 */

import { newStamp } from '../entry-stamp.js';
import {
  type DayContents,
  groupsToPack,
  monthOf,
  packContent,
  packDays,
  unpackContent,
  unpackDays,
} from '../history-content.js';
import type { HistoryMonth, HistoryStore, HistoryWrite } from '../history-port.js';
import { StoreUnavailable } from '../port.js';
import { answersOf } from './failure.js';
import type { MonthKeys } from './keys.js';
import type { Link } from './link.js';
import type { MemoryWatch, ServerMemory } from './memory.js';
import { script } from './script.js';

const STAMP_BYTES = 6;
/** `07` of `2026-03-07` */
const FIELD_AT = 8;

/**
 * Writes days of one series and month. Writes are small, and come only when a day has changed, so that their way through
 * Lua, which copies them, costs less than a second round trip.
 *
 * KEYS: the month's hash. ARGV: numbers of days and packs; for each pack its field, the replaced bytes ('': none) and the new
 * ones ('': delete); for each day its field, its stamp ('': none), its new value, which begins with another stamp, the numbers
 * of contents and of removed names, then contents by name, and removed names; finally facts by field. Returns 1 or 0 for each
 * day. With packs all is written or nothing; an empty list means that a pack, or one of several days, has changed.
 */
const writeHistory = script<number[]>('dgwWriteHistory')`
local hash, days, packs, done = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), {}
local function isSame(at)
  local present = redis.call('HGET', hash, ARGV[at])
  return (present and string.sub(present, 1, 6) or '') == ARGV[at + 1]
end
local at = 3 + 3 * packs
if packs > 0 then
  for _ = 1, days do
    if not isSame(at) then return days == 1 and {0} or {} end
    at = at + 5 + 2 * ARGV[at + 3] + ARGV[at + 4]
  end
  at = 3 + 3 * packs
end
for i = 3, 3 * packs, 3 do
  if (redis.call('HGET', hash, ARGV[i]) or '') ~= ARGV[i + 1] then return {} end
end
for i = 3, 3 * packs, 3 do
  if ARGV[i + 2] == '' then redis.call('HDEL', hash, ARGV[i]) else redis.call('HSET', hash, ARGV[i], ARGV[i + 2]) end
end
for i = 1, days do
  local day, added, removed = ARGV[at], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local same = packs > 0 or isSame(at)
  if same then redis.call('HSET', hash, day, ARGV[at + 2]) end
  at = at + 5
  for _ = 1, added do
    if same then redis.call('HSET', hash, day .. ':' .. ARGV[at], ARGV[at + 1]) end
    at = at + 2
  end
  for _ = 1, removed do
    if same then redis.call('HDEL', hash, day .. ':' .. ARGV[at]) end
    at = at + 1
  end
  done[i] = same and 1 or 0
end
while at < #ARGV do
  redis.call('HSETNX', hash, ARGV[at], ARGV[at + 1])
  at = at + 2
end
return done`;

/** Attempts under concurrent writes of other days of a pack. */
const TRIES = 5;

/** Of `maxmemory`: what history may take, and what may be used of it by all before no history is written any more. */
const [HISTORY_PART, USED_PART] = [0.25, 0.85];

type Memory = Pick<MemoryWatch, 'latest'>;

/** @param memory of its servers */
export function createRedisHistory(link: Link, keys: MonthKeys, memory: Memory): HistoryStore {
  const { months } = keys;
  const takeRoom = createRoom(memory);

  const read = createReadFields(link, keys);
  const writeMonth = createWriteMonth(link, keys, read);

  return {
    packs: true,
    roomBytes() {
      const most = memory.latest.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
      return most === 0 ? null : most * HISTORY_PART;
    },
    async heads(series, days) {
      const fields = days.map((day) => [day, day.slice(FIELD_AT)] as const);
      return (await read(series, fields)).map((value) => {
        if (value === null || value.length < STAMP_BYTES) return null;
        return { stamp: value.readUIntBE(0, STAMP_BYTES), heads: value.subarray(STAMP_BYTES) };
      });
    },
    async contents(series, wanted) {
      const loose = wanted.map(({ day, name }) => [day, `${day.slice(FIELD_AT)}:${name}`] as const);
      const packs = new Map(
        wanted.map(({ day, name }) => [`${monthOf(day)} ${name}`, [day, `p:${name}`] as const]),
      );
      const values = await read(series, [...loose, ...packs.values()]);
      const found = values.slice(0, wanted.length).map(unpackContent);
      const packed = new Map(
        [...packs.keys()].map((name, at) => [name, unpackDays(values[wanted.length + at] ?? null)]),
      );
      const of = found.flatMap((one, at) =>
        one === null ? [] : [[wanted[at]?.day ?? '', `f:${one.digest}`] as const],
      );
      const facts = (await read(series, of)).values();
      return wanted.map(({ day, name }, at) => {
        const one = found[at] ?? null;
        if (one === null) return packed.get(`${monthOf(day)} ${name}`)?.get(day.slice(FIELD_AT)) ?? null;
        const { digest: _, ...content } = one;
        const shared = facts.next().value ?? null;
        return shared === null ? null : { ...content, facts: shared };
      });
    },
    async write(series, writes) {
      takeRoom(bytesOf(writes));
      const done = new Map<HistoryWrite, boolean>();
      for (const month of new Set(writes.map(({ day }) => monthOf(day)))) {
        const some = writes.filter(({ day }) => monthOf(day) === month);
        // First: a month that is not in the list would stay for ever.
        if (some.some(({ stamp }) => stamp === 0))
          await link.call('zadd', (client) => client.zadd(months, 0, memberOf({ series, month })));
        const made = await writeMonth(series, some);
        for (const [at, write] of some.entries()) done.set(write, made[at] === 1);
      }
      return writes.map((write) => done.get(write) ?? false);
    },
    async months(after, limit) {
      const from = after === null ? '-' : `(${memberOf(after)}`;
      const found = await link.call('zrangebylex', (client) =>
        client.zrangebylex(months, from, '+', 'LIMIT', 0, limit),
      );
      return found.map((member) => ({ month: member.slice(0, 7), series: member.slice(8) }));
    },
    async remove(what) {
      await link.call('unlink', (client) => client.unlink(keys.month(what.series, what.month)));
      await link.call('zrem', (client) => client.zrem(months, memberOf(what)));
    },
  };
}

type ReadFields = ReturnType<typeof createReadFields>;

/** Fields of days of one series, in one round trip. @returns in their order; null for those that are absent */
function createReadFields(link: Link, keys: MonthKeys) {
  return async (
    series: string,
    wanted: readonly (readonly [day: string, field: string])[],
  ): Promise<(Buffer | null)[]> => {
    if (wanted.length === 0) return [];
    const all = [...new Set(wanted.map(([day]) => monthOf(day)))].map((month) => ({
      hash: keys.month(series, month),
      places: [...wanted.keys()].filter((at) => monthOf(wanted[at]?.[0] ?? '') === month),
    }));
    const replies = await link.call('pipeline', async (client) => {
      const pipeline = client.pipeline();
      for (const { hash, places } of all)
        pipeline.hmgetBuffer(hash, ...places.map((at) => wanted[at]?.[1] ?? ''));
      return answersOf(await pipeline.exec());
    });
    const found: (Buffer | null)[] = wanted.map(() => null);
    for (const [nth, { places }] of all.entries()) {
      const values: unknown = replies[nth];
      if (Array.isArray(values)) for (const [i, at] of places.entries()) found[at] = values[i] ?? null;
    }
    return found;
  };
}

/** @param read of these keys */
function createWriteMonth(link: Link, keys: MonthKeys, read: ReadFields) {
  /** The packs from which contents are removed, with the remaining ones. */
  async function packsWithout(series: string, writes: readonly HistoryWrite[]): Promise<Packs> {
    const gone = writes.flatMap(({ day, removed }) => removed.map((name) => [day, name] as const));
    const packs = new Map(gone.map(([day, name]) => [`p:${name}`, day]));
    const values = await read(
      series,
      [...packs].map(([field, day]) => [day, field]),
    );
    return [...packs.keys()].flatMap((field, at) => {
      const before = values[at] ?? null;
      const left = new Map(unpackDays(before));
      for (const [day, name] of gone) if (`p:${name}` === field) left.delete(day.slice(FIELD_AT));
      return before === null ? [] : [{ field, before, contents: left }];
    });
  }

  return async function writeMonth(series: string, writes: readonly HistoryWrite[]): Promise<number[]> {
    const hash = keys.month(series, monthOf(writes[0]?.day ?? ''));
    for (let tries = 0; tries < TRIES; tries += 1) {
      const packs = [...packsOf(writes), ...(await packsWithout(series, writes))];
      const made = await writeHistory(link, [hash], argumentsFor(writes, packs));
      if (made.length > 0) return made;
      if (writes.length === 1) continue;
      // Another writer has changed some: each day is written separately.
      const all: number[] = [];
      for (const write of writes) all.push(...(await writeMonth(series, [write])));
      return all;
    }
    throw new StoreUnavailable('others change this month of history');
  };
}

/** A write takes so many times its bytes at most: Redis allocates in steps. */
const GROSS = 1.5;

/**
 * The rest of the server's memory is for teams, keys and tokens, which must be changed whatever lies beside them. Between two
 * looks at the server the writes of this process count.
 */
function createRoom(memory: Memory) {
  let seen = memory.latest;
  let written = 0;
  /** @throws StoreUnavailable where there is no room for so many bytes */
  return (bytes: number): void => {
    if (memory.latest !== seen) written = 0;
    seen = memory.latest;
    const isOver = ({ usedBytes, maxBytes }: ServerMemory) =>
      maxBytes > 0 && usedBytes + written + bytes * GROSS > maxBytes * USED_PART;
    if (seen.some(isOver)) throw new StoreUnavailable('Redis has no room for history', 'no-room');
    written += bytes * GROSS;
  };
}

function bytesOf(writes: readonly HistoryWrite[]): number {
  const contents = writes.flatMap(({ added }) => [...added.values()]);
  const all = [...contents.flatMap(({ body, facts }) => [body, facts]), ...writes.map(({ heads }) => heads)];
  return all.reduce((sum, { length }) => sum + length, 0);
}

interface Pack {
  readonly field: string;
  /** The replaced pack; empty: none. */
  readonly before: Buffer;
  readonly contents: DayContents;
}
type Packs = readonly Pack[];

const NOTHING = Buffer.alloc(0);

/** Contents of several days of one month with the same name. */
function packsOf(writes: readonly HistoryWrite[]): Packs {
  if (new Set(writes.map(({ day }) => day)).size < writes.length) return [];
  const all = writes.flatMap(({ day, added }) =>
    [...added].map(([name, content]) => ({ name, content, field: day.slice(FIELD_AT) })),
  );
  const groups = groupsToPack(
    all,
    ({ name }) => name,
    ({ content }) => content.body,
  );
  return [...groups].map(([name, days]) => ({
    field: `p:${name}`,
    before: NOTHING,
    contents: new Map(days.map(({ field, content }) => [field, content])),
  }));
}

/** As the script takes them. */
function argumentsFor(writes: readonly HistoryWrite[], packs: Packs): (string | number | Buffer)[] {
  const all: (string | number | Buffer)[] = [writes.length, packs.length];
  for (const { field, before, contents } of packs)
    all.push(field, before, contents.size === 0 ? NOTHING : packDays(contents));
  const facts = new Map<string, Buffer>();
  for (const { day, stamp, heads, added, removed } of writes) {
    const field = day.slice(FIELD_AT);
    const loose = [...added].filter(
      ([, content]) => !packs.some(({ contents }) => contents.get(field) === content),
    );
    all.push(field, stampBytes(stamp), Buffer.concat([stampBytes(newStamp()), heads]));
    all.push(loose.length, removed.length);
    for (const [name, content] of loose) {
      const { bytes, digest } = packContent(content);
      facts.set(`f:${digest}`, content.facts);
      all.push(name, bytes);
    }
    all.push(...removed);
  }
  for (const [name, bytes] of facts) all.push(name, bytes);
  return all;
}

const memberOf = ({ series, month }: HistoryMonth) => `${month} ${series}`;

/** '' for none. */
function stampBytes(stamp: number): Buffer {
  const bytes = Buffer.alloc(stamp === 0 ? 0 : STAMP_BYTES);
  if (stamp !== 0) bytes.writeUIntBE(stamp, 0, STAMP_BYTES);
  return bytes;
}
