/**
 * The history of reports, on the server of the registry: a hash for each series and month, and a sorted set of all months,
 * to find the oldest. Fields of a hash: `h` small heads of days, see day-heads.ts; `07` the stamp (6 bytes) and larger
 * heads of a day; `07:name` its rows, `f:digest` their facts; `p:name` a pack with the rows of several days, see
 * history-content.ts. Nothing expires by itself.
 */
import type { LRUCache } from 'lru-cache';
import { createLastUsed } from '../../lib/last-used.js';
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
import type {
  HistoryContent,
  HistoryHeads,
  HistoryMonth,
  HistoryStore,
  HistoryWrite,
} from '../history-port.js';
import { StoreUnavailable } from '../port.js';
import { packHeads, unpackHeads } from './day-heads.js';
import { answersOf } from './failure.js';
import type { MonthKeys } from './keys.js';
import type { Link } from './link.js';
import { createRoom, type Memory } from './memory.js';
import { script } from './script.js';
import { STAMP_BYTES, stampBytes, stampOf } from './stamp.js';

/** `07` of `2026-03-07` */
const FIELD_AT = 8;

/** The field of the heads of several days. */
const SHARED = 'h';

/**
 * Changes all given fields of a month, or none if one differs from what is expected. Writes are small and rare, so that
 * the copies that Lua makes cost less than a second round trip.
 *
 * KEYS: the month's hash. ARGV: numbers of expected and of changed fields; each expected field with its first bytes ('':
 * absent); each changed field with its value ('': delete); facts by field, set only if absent. Returns 1 or 0.
 */
const writeHistory = script<number>('dgwWriteHistory')`
local hash, changed = KEYS[1], 3 + 2 * ARGV[1]
local facts = changed + 2 * ARGV[2]
for at = 3, changed - 2, 2 do
  local value, expected = redis.call('HGET', hash, ARGV[at]) or '', ARGV[at + 1]
  if string.sub(value, 1, #expected) ~= expected or (expected == '' and value ~= '') then return 0 end
end
for at = changed, facts - 2, 2 do
  local field, value = ARGV[at], ARGV[at + 1]
  if value == '' then redis.call('HDEL', hash, field) else redis.call('HSET', hash, field, value) end
end
for at = facts, #ARGV - 1, 2 do redis.call('HSETNX', hash, ARGV[at], ARGV[at + 1]) end
return 1`;

/** Attempts under concurrent writes to a month; each round at least one writer succeeds. */
const TRIES = 20;

/** Of `maxmemory`: what history may take. */
const HISTORY_PART = 0.25;

/** @param memory of its servers. @param sharedBelow heads of so many bytes have their own fields */
export function createRedisHistory(
  link: Link,
  keys: MonthKeys,
  memory: Memory,
  sharedBelow: number,
): HistoryStore {
  const { months } = keys;
  const takeRoom = createRoom(memory, 'history');

  const read = createReadFields(link, keys);
  const lately = createLastUsed<Buffer>(LATELY_READ);
  const writeMonth = createWriteMonth(link, keys, read, lately, sharedBelow);

  return {
    packs: true,
    roomBytes() {
      const most = memory.latest.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
      return most === 0 ? null : most * HISTORY_PART;
    },
    async heads(series, days) {
      const all = new Set(days.map(monthOf));
      const fields = days.map((day) => [day, day.slice(FIELD_AT)] as const);
      const values = await read(series, [...fields, ...[...all].map((month) => [month, SHARED] as const)]);
      const shared = new Map(
        [...all].map((month, at) => {
          const value = values[days.length + at] ?? null;
          if (value !== null) lately.set(keys.month(series, month), Buffer.from(value));
          return [month, sharedIn(value)];
        }),
      );
      return fields.map(([day, field], at) => {
        const [own, beside] = [ownIn(values[at] ?? null), shared.get(monthOf(day))?.(field) ?? null];
        return own !== null && beside !== null ? { ...own, beside: beside.heads } : (own ?? beside);
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
      const done = new Set<HistoryWrite>();
      for (const month of new Set(writes.map(({ day }) => monthOf(day)))) {
        const some = writes.filter(({ day }) => monthOf(day) === month);
        // First: a month that is not in the list would stay for ever.
        if (some.some(({ stamp }) => stamp === 0))
          await link.call('zadd', (client) => client.zadd(months, 0, memberOf({ series, month })));
        for (const write of await writeMonth(series, some)) done.add(write);
      }
      return writes.map((write) => done.has(write));
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

/** Heads by day, from the field of several. */
function sharedIn(value: Buffer | null): (field: string) => HistoryHeads | null {
  const days = unpackHeads(value);
  if (days !== null) return (field) => days.get(field) ?? null;
  // A newer release has written it: unknown heads for each day.
  const unknown = ownIn(value);
  return () => unknown;
}

function ownIn(value: Buffer | null): HistoryHeads | null {
  if (value === null || value.length < STAMP_BYTES) return null;
  return { stamp: stampOf(value), heads: value.subarray(STAMP_BYTES) };
}

/** What a write expects to be stored, by field. */
type Fields = ReadonlyMap<string, Buffer>;

/** Months, about as many as are written at the same time. Each takes some hundred bytes. */
const LATELY_READ = 100;

/** @param lately heads of several days, by month, as their writer has just read them */
function createWriteMonth(
  link: Link,
  keys: MonthKeys,
  read: ReturnType<typeof createReadFields>,
  lately: LRUCache<string, Buffer>,
  sharedBelow: number,
) {
  /** The heads that the writes were decided on. */
  function expectedBy(hash: string, writes: readonly HistoryWrite[]): Fields {
    const shared = lately.get(hash) ?? null;
    lately.delete(hash);
    const days = sharedIn(shared);
    const own = writes.flatMap(({ day, stamp }) => {
      const field = day.slice(FIELD_AT);
      return stamp === 0 || days(field)?.stamp === stamp ? [] : [[field, stampBytes(stamp)] as const];
    });
    return new Map([...own, ...(shared === null ? [] : [[SHARED, shared] as const])]);
  }

  async function stored(series: string, writes: readonly HistoryWrite[]): Promise<Fields> {
    const month = monthOf(writes[0]?.day ?? '');
    const names = writes.flatMap(({ day, added, removed }) => [
      day.slice(FIELD_AT),
      ...[...added.keys(), ...removed].map((name) => `p:${name}`),
    ]);
    const fields = [...new Set([SHARED, ...names])];
    const values = await read(
      series,
      fields.map((field) => [month, field]),
    );
    return new Map(fields.flatMap((field, at) => (values[at] ? [[field, values[at]]] : [])));
  }

  /** @returns the writes that were made */
  return async function writeMonth(series: string, writes: readonly HistoryWrite[]) {
    const hash = keys.month(series, monthOf(writes[0]?.day ?? ''));
    // A removal must know the pack.
    const isKnown = writes.every(({ removed }) => removed.length === 0);
    let present = isKnown ? expectedBy(hash, writes) : await stored(series, writes);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { made, args } = changesOf(writes, present, sharedBelow);
      const isStored = tries > 0 || !isKnown;
      if (made.length === 0 && isStored) return made;
      if ((isStored || made.length === writes.length) && (await writeHistory(link, [hash], args)) === 1)
        return made;
      present = await stored(series, writes);
    }
    throw new StoreUnavailable('others change this month of history');
  };
}

/**
 * @param present heads and packs of the month
 * @returns `made`: writes of days that have not changed; `args`: of the script
 */
function changesOf(writes: readonly HistoryWrite[], present: Fields, sharedBelow: number) {
  const before = present.get(SHARED) ?? null;
  const known = unpackHeads(before);
  const days = new Map(known);
  const shared = sharedIn(before);
  const stamp = newStamp();
  const expected = new Map<string, Buffer>();
  const changed = new Map<string, Buffer>();
  const made = writes.filter((write) => {
    const field = write.day.slice(FIELD_AT);
    const own = present.get(field)?.subarray(0, STAMP_BYTES) ?? NOTHING;
    const at = own.length > 0 ? stampOf(own) : (shared(field)?.stamp ?? 0);
    if (at !== write.stamp || expected.has(field) || (known === null && own.length === 0)) return false;
    expected.set(field, own);
    const isShared = known !== null && write.heads.length < sharedBelow;
    if (days.delete(field) || isShared) expected.set(SHARED, before?.subarray(0, STAMP_BYTES) ?? NOTHING);
    if (isShared) days.set(field, { stamp, heads: write.heads });
    else changed.set(field, Buffer.concat([stampBytes(stamp), write.heads]));
    if (isShared && own.length > 0) changed.set(field, NOTHING);
    return true;
  });
  if (expected.has(SHARED)) changed.set(SHARED, days.size === 0 ? NOTHING : packHeads(days));
  const packs = [...packsOf(made, present), ...packsWithout(made, present)];
  for (const { field, contents } of packs) {
    expected.set(field, present.get(field) ?? NOTHING);
    changed.set(field, contents.size === 0 ? NOTHING : packDays(contents));
  }
  const facts = addContents(made, packs, changed);
  const args = [expected.size, changed.size, ...[...expected, ...changed, ...facts].flat()];
  return { made, args };
}

/** Adds contents that are in no pack, and deletions, to `changed`. @returns facts by field */
function addContents(writes: readonly HistoryWrite[], packs: readonly Pack[], changed: Map<string, Buffer>) {
  const facts = new Map<string, Buffer>();
  for (const { day, added, removed } of writes) {
    const field = day.slice(FIELD_AT);
    for (const [name, content] of added) {
      if (packs.some(({ contents }) => contents.get(field) === content)) continue;
      const { bytes, digest } = packContent(content);
      facts.set(`f:${digest}`, content.facts);
      changed.set(`${field}:${name}`, bytes);
    }
    for (const name of removed) changed.set(`${field}:${name}`, NOTHING);
  }
  return facts;
}

function bytesOf(writes: readonly HistoryWrite[]): number {
  const contents = writes.flatMap(({ added }) => [...added.values()]);
  const all = [...contents.flatMap(({ body, facts }) => [body, facts]), ...writes.map(({ heads }) => heads)];
  return all.reduce((sum, { length }) => sum + length, 0);
}

interface Pack {
  readonly field: string;
  readonly contents: DayContents;
}

const NOTHING = Buffer.alloc(0);

/** Contents of several days with the same name, where no pack has it. */
function packsOf(writes: readonly HistoryWrite[], present: Fields): Pack[] {
  const all = writes.flatMap(({ day, added }) =>
    [...added].map(([name, content]) => ({ name, content, field: day.slice(FIELD_AT) })),
  );
  const groups = groupsToPack(
    all,
    ({ name }) => (present.has(`p:${name}`) ? null : name),
    ({ content }) => content.body,
  );
  return [...groups].map(([name, days]) => ({
    field: `p:${name}`,
    contents: new Map(days.map(({ field, content }) => [field, content])),
  }));
}

/** Packs from which contents are removed, with the remaining ones. */
function packsWithout(writes: readonly HistoryWrite[], present: Fields): Pack[] {
  const packs = new Map<string, Map<string, HistoryContent>>();
  for (const { day, removed } of writes)
    for (const field of removed.map((name) => `p:${name}`)) {
      const contents = packs.get(field) ?? new Map(unpackDays(present.get(field) ?? null));
      if (contents.delete(day.slice(FIELD_AT))) packs.set(field, contents);
    }
  return [...packs].map(([field, contents]) => ({ field, contents }));
}

const memberOf = ({ series, month }: HistoryMonth) => `${month} ${series}`;
