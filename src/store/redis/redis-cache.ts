/** How cache entries lie in Redis, and the script that writes them. */

import type { Clock } from '../../lib/clock.js';
import { byGroup, type CacheGroup } from '../check-input.js';
import {
  createKnownFacts,
  type KnownFacts,
  MARK,
  PACKED_MARK,
  readStamp,
  STAMP_BYTES,
  type Stamp,
  type StampedWrite,
  stampWrite,
} from '../entry-stamp.js';
import { type DayContents, groupsToPack, packDays, unpackDays } from '../history-content.js';
import {
  type CacheEntry,
  type CachePlace,
  type CacheStore,
  type CacheWrite,
  VERSION_LEAD_MAX_MS,
} from '../port.js';
import { type HashRead, readHashes } from './batches.js';
import type { RedisClient } from './connect.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import type { CacheBound } from './memory.js';

/** Bodies above it have keys of their own: a hash is read by its fields, and dropped as a whole. */
const OWN_KEY_ABOVE_BYTES = 256 * 1024;
/** Bodies up to it lie behind their heads: a field of their own would cost as much again as a small day has bytes. */
const BEHIND_HEAD_BYTES = 1024;

/**
 * Writes entries of one group in the place of older ones: their heads, with small bodies behind them. Larger bodies and
 * facts follow as plain commands of the same transaction, each only where there is none: through Lua they would be copied
 * twice more. It is sent whole each time, as a transaction cannot find out in between that the server has lost it.
 *
 * KEYS: the group's hash; for each entry the key that a large body has. ARGV: now, the longest lifetime of the entries,
 * milliseconds; for each entry its field, its version, and its head with a small body; '' for one that is gone at once.
 *
 * An entry of which a part is lost is dropped with what is left of it. So are fields that are over, and facts and
 * bodies without a head; but where a head is of another form, its facts are unknown, and all of them stay.
 */
const WRITE_GROUP = `
local hash, now, longest = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', hash).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', hash) end

local function number(text, from, to)
  local sum = 0
  for at = from, to do sum = sum * 256 + string.byte(text, at) end
  return sum
end
local function stampOf(head)
  if not head or #head < ${STAMP_BYTES} then return nil end
  local m, n = string.byte(head, 1, 2)
  if m ~= ${MARK[0]} or (n ~= ${MARK[1]} and n ~= ${PACKED_MARK}) then return nil end
  local facts = string.gsub(string.sub(head, 19, ${STAMP_BYTES}), '.', function(one)
    return string.format('%02x', string.byte(one))
  end)
  return {version = number(head, 3, 8), ends = number(head, 9, 14), bytes = number(head, 15, 18), facts = 'f:' .. facts,
    size = #head}
end
local function isWhole(stamp, field, own)
  if redis.call('HEXISTS', hash, stamp.facts) == 0 then return false end
  if stamp.bytes > ${OWN_KEY_ABOVE_BYTES} then return redis.call('TYPE', own).ok == 'string' end
  if stamp.bytes <= ${BEHIND_HEAD_BYTES} then return stamp.size >= ${STAMP_BYTES} + stamp.bytes end
  return redis.call('HEXISTS', hash, 'd:' .. field) == 1
end

local taken = false
for i = 2, #KEYS do
  local at = 3 * i - 3
  local field, new, head = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local present = stampOf(redis.call('HGET', hash, 'h:' .. field))
  if not (present and present.ends > now and present.version > new
    and present.version <= new + ${VERSION_LEAD_MAX_MS} and isWhole(present, field, KEYS[i])) then
    redis.call('HDEL', hash, 'h:' .. field, 'd:' .. field)
    redis.call('UNLINK', KEYS[i])
    if head ~= '' then
      redis.call('HSET', hash, 'h:' .. field, head)
      taken = true
    end
  end
end

local used, facts, foreign = {}, {}, false
for _, name in ipairs(redis.call('HKEYS', hash)) do
  local mark, field = string.sub(name, 1, 2), string.sub(name, 3)
  if mark == 'f:' then facts[#facts + 1] = name
  elseif mark == 'd:' and redis.call('HEXISTS', hash, 'h:' .. field) == 0 then redis.call('HDEL', hash, name)
  elseif mark == 'h:' then
    local stamp = stampOf(redis.call('HGET', hash, name))
    if not stamp then foreign = true
    elseif stamp.ends <= now then redis.call('HDEL', hash, name, 'd:' .. field)
    else used[stamp.facts] = true end
  end
end
if not foreign then
  for _, name in ipairs(facts) do
    if not used[name] then redis.call('HDEL', hash, name) end
  end
end
if taken and redis.call('PTTL', hash) < longest then redis.call('PEXPIRE', hash, longest) end`;

/**
 * A body at a key of its own: a mark (2 bytes) · the entry's version (6, big endian) · its bytes. What does not start with
 * the mark is of somebody else.
 */
const HEAD_BYTES = 8;

export function encodeVersioned(value: Buffer, version: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + value.length);
  bytes.set(MARK);
  bytes.writeUIntBE(version, MARK.length, HEAD_BYTES - MARK.length);
  value.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** @returns the value, as a view of the bytes; null for what is none of this version */
export function decodeVersioned(bytes: Buffer | null, version: number): Buffer | null {
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  if (bytes[0] !== MARK[0] || bytes[1] !== MARK[1]) return null;
  if (bytes.readUIntBE(MARK.length, HEAD_BYTES - MARK.length) !== version) return null;
  return bytes.subarray(HEAD_BYTES);
}

/** From so many fields on the whole hash of a group is read: it holds little else, and brings the facts with it. */
const WHOLE_GROUP_FROM = 16;
/** Bodies with keys of their own are read so many bytes at a time. */
const BATCH_BYTES = 2 * 1024 * 1024;

type Fields = ReadonlyMap<string, Buffer>;

/** An entry whose head was found. */
interface Found {
  readonly place: CachePlace;
  readonly stamp: Stamp;
  readonly header: Buffer;
  /** Null: it has a key of its own. */
  body: Buffer | null;
  facts: Buffer | undefined;
}

/**
 * Cache entries as fields of a hash for each group: `h:` the stamp, the header and a small body, `d:` a larger body, `f:`
 * facts by their digest. For small days that are written together, `h:` is the stamp alone, and one `f:` is a pack of the
 * rest. The hash expires with its last entry; each entry has its own end in its stamp.
 *
 * @param clock decides whether an entry is over
 */
export function createRedisCache(
  link: Link,
  keys: Keys,
  bound: Pick<CacheBound, 'admit'>,
  clock: Clock,
): CacheStore {
  const knownFor = createKnown();
  const read = createReader(link, keys, knownFor, clock);

  async function writeGroup(client: RedisClient, { series, group, members }: CacheGroup<Placed>) {
    const hash = keys.cache(series, group);
    const transaction = client.multi().eval(
      WRITE_GROUP,
      1 + members.length,
      hash,
      ...members.map(({ write }) => keys.cacheBody(write)),
      Math.floor(clock.now()),
      Math.max(...members.map(({ ttlMs }) => ttlMs)),
      ...members.flatMap(({ field, stamp, ttlMs, head, write: { body } }) => {
        const isBehind = body.length <= BEHIND_HEAD_BYTES;
        const value = isBehind ? Buffer.concat([head, body]) : head;
        return [field, stamp.version, ttlMs < 1 ? '' : value];
      }),
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
    answersOf(await transaction.exec());
  }

  return {
    packs: true,
    // What was sent before is done before: commands of one series go to one server, over one connection.
    read,
    async write(entries) {
      if (entries.length === 0) return;
      const writes = stampAll(entries, clock.now());
      await bound.admit(writes.reduce((sum, one) => sum + bytesOf(one), 0));
      await link.call('multi', (client) =>
        Promise.all(byGroup(writes).map((group) => writeGroup(client, group))),
      );
      for (const { stamp, write } of writes) knownFor(stamp).add(stamp.facts, write.facts);
    },
    async remove(places) {
      if (places.length === 0) return;
      await link.call('pipeline', async (client) => {
        const pipeline = client.pipeline();
        for (const { series, group, members } of byGroup(places)) {
          pipeline.hdel(keys.cache(series, group), ...namesOf(members));
          pipeline.unlink(...members.map(keys.cacheBody));
        }
        answersOf(await pipeline.exec());
      });
    },
  };
}

type KnownFor = (stamp: Stamp) => KnownFacts;

/** Facts apart from packs, which would evict them: each pack is of one month, facts are of many. */
function createKnown(): KnownFor {
  const [facts, packs] = [createKnownFacts(), createKnownFacts()];
  return ({ isPacked }) => (isPacked ? packs : facts);
}

/**
 * Reads all groups in one round trip, together with other reads; facts that are new to this process and bodies with keys of
 * their own in a second one.
 */
function createReader(link: Link, keys: Keys, knownFor: KnownFor, clock: Clock) {
  async function readFields(reads: readonly HashRead[]): Promise<Fields[]> {
    const replies = await link.call('pipeline', async (client) => answersOf(await readHashes(client, reads)));
    return reads.map(({ fields }, at) => fieldsOf(fields ?? [], replies[at]));
  }

  function find(places: readonly CachePlace[], fields: Fields): Found[] {
    const nowMs = clock.now();
    const found = [...new Set(places)].flatMap((place) => findOne(place, fields, knownFor, nowMs) ?? []);
    // Only a hash that was read as a whole brings facts, too.
    if (places.length >= WHOLE_GROUP_FROM)
      for (const one of found)
        if (one.facts !== undefined) one.facts = knownFor(one.stamp).add(one.stamp.facts, one.facts);
    return found;
  }

  async function readFacts(found: readonly Found[]): Promise<void> {
    const missing = found.filter(({ facts }) => facts === undefined);
    const groups = byGroup(missing.map((one) => ({ ...one.place, one })));
    const all = await readFields(
      groups.map(({ series, group, members }) => ({
        hash: keys.cache(series, group),
        fields: [...new Set(members.map(({ one }) => `f:${one.stamp.facts}`))],
      })),
    );
    for (const [at, { members }] of groups.entries())
      for (const { one } of members) {
        const bytes = all[at]?.get(`f:${one.stamp.facts}`);
        if (bytes !== undefined) one.facts = knownFor(one.stamp).add(one.stamp.facts, bytes);
      }
  }

  async function readOwnBodies(found: readonly Found[]): Promise<void> {
    for (const batch of batchesOf(found.filter(({ body }) => body === null))) {
      const bodies = await link.call('pipeline', async (client) => {
        const pipeline = client.pipeline();
        for (const { place } of batch) pipeline.getBuffer(keys.cacheBody(place));
        return answersOf(await pipeline.exec());
      });
      for (const [at, one] of batch.entries()) {
        const value = bodies[at];
        one.body = Buffer.isBuffer(value) ? decodeVersioned(value, one.stamp.version) : null;
      }
    }
  }

  return async (places: readonly CachePlace[]): Promise<(CacheEntry | null)[]> => {
    if (places.length === 0) return [];
    const groups = byGroup(places);
    const fields = await readFields(
      groups.map(({ series, group, members }) => ({
        hash: keys.cache(series, group),
        fields: members.length >= WHOLE_GROUP_FROM ? null : namesOf(members),
      })),
    );
    const found = groups.flatMap(({ members }, at) => find(members, fields[at] as Fields));
    if (found.some(({ facts }) => facts === undefined)) await readFacts(found);
    if (found.some(({ body }) => body === null)) await readOwnBodies(found);
    const packs = new Map<Buffer, DayContents>();
    const entries = new Map(found.map((one) => [one.place, entryOf(one, packs)]));
    return places.map((place) => entries.get(place) ?? null);
  };
}

/** A write with its place, as `byGroup` takes it. */
type Placed = StampedWrite & CachePlace;

/** Packs small days of a group; a pack is stored as the facts that they share. */
function stampAll(entries: readonly CacheWrite[], nowMs: number): Placed[] {
  const packs = new Map<CacheWrite, Buffer>();
  const nameOf = ({ series, group, field, ttlMs }: CacheWrite) =>
    ttlMs < 1 || Buffer.byteLength(field) !== 2 ? null : `${series.length}:${series}:${group}`;
  for (const days of groupsToPack(entries, nameOf, ({ body }) => body).values()) {
    const pack = packDays(new Map(days.map((day) => [day.field, day])));
    for (const day of days) packs.set(day, pack);
  }
  return entries.map((write): Placed => {
    const { series, group, field, version, ttlMs } = write;
    const pack = packs.get(write);
    const place = { series, group, field };
    if (pack === undefined) return { ...place, ...stampWrite(write, nowMs) };
    const packed = { ...place, version, ttlMs, header: NOTHING, body: NOTHING, facts: pack };
    return { ...place, ...stampWrite(packed, nowMs, true) };
  });
}

const NOTHING = Buffer.alloc(0);

const bytesOf = ({ head, write }: StampedWrite) => head.length + write.body.length + write.facts.length;

/** @returns null for what is over, or of which a part is lost */
function findOne(place: CachePlace, fields: Fields, knownFor: KnownFor, nowMs: number): Found | null {
  const value = fields.get(`h:${place.field}`);
  const stamp = readStamp(value);
  if (value === undefined || stamp === null || stamp.endsAtMs <= nowMs) return null;
  const { bodyBytes } = stamp;
  const isBehind = bodyBytes <= BEHIND_HEAD_BYTES;
  const headEnd = isBehind ? value.length - bodyBytes : value.length;
  if (headEnd < STAMP_BYTES) return null;
  const isOwn = bodyBytes > OWN_KEY_ABOVE_BYTES;
  const body = isBehind ? value.subarray(headEnd) : isOwn ? null : fields.get(`d:${place.field}`);
  if (body === undefined) return null;
  const facts = knownFor(stamp).get(stamp.facts) ?? fields.get(`f:${stamp.facts}`);
  return { place, stamp, header: value.subarray(STAMP_BYTES, headEnd), body, facts };
}

/** A missing part is a missing entry. @param packs that were opened */
function entryOf(
  { place, stamp, header, body, facts }: Found,
  packs: Map<Buffer, DayContents>,
): CacheEntry | null {
  const { version, isPacked } = stamp;
  if (body === null || facts === undefined) return null;
  if (!isPacked) return { version, header, body, facts };
  const days = packs.get(facts) ?? unpackDays(facts);
  packs.set(facts, days);
  const day = days.get(place.field);
  return day?.version === version ? day : null;
}

function namesOf(places: readonly CachePlace[]): string[] {
  return places.flatMap(({ field }) => [`h:${field}`, `d:${field}`]);
}

/** @param reply values in the order of `names`, or all fields of a hash by their name; anything else is none */
function fieldsOf(names: readonly string[], reply: unknown): Fields {
  const fields = new Map<string, Buffer>();
  const set = (name: string, value: unknown) => Buffer.isBuffer(value) && fields.set(name, value);
  if (Array.isArray(reply)) for (const [at, name] of names.entries()) set(name, reply[at]);
  else for (const [name, value] of Object.entries(reply ?? {})) set(name, value);
  return fields;
}

function batchesOf(found: readonly Found[]): Found[][] {
  const batches: Found[][] = [];
  let left = 0;
  for (const one of found) {
    if (one.stamp.bodyBytes > left) {
      batches.push([]);
      left = BATCH_BYTES;
    }
    batches.at(-1)?.push(one);
    left -= one.stamp.bodyBytes;
  }
  return batches;
}
