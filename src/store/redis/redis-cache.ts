/** How cache entries lie in Redis. */

import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { byGroup, type CacheGroup } from '../check-input.js';
import {
  createKnownFacts,
  MARK,
  readStamp,
  STAMP_BYTES,
  type Stamp,
  type StampedWrite,
  stampWrite,
} from '../entry-stamp.js';
import { type DayContents, packDays, unpackContent, unpackDays } from '../history-content.js';
import type { CacheEntry, CachePlace, CacheStore, CacheWrite } from '../port.js';
import { BEHIND_HEAD_BYTES, OWN_KEY_ABOVE_BYTES, READ_GROUPS, WRITE_GROUP } from './cache-scripts.js';
import type { RedisClient } from './connect.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import type { CacheBound } from './memory.js';
import { readScript } from './script.js';

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

/** Months with pointers to removed contents, as after a sweep of history: their next entries are no pointers. */
const REMEMBERED_MONTHS = 10_000;
/** Bodies with keys of their own are read so many bytes at a time. */
const BATCH_BYTES = 2 * 1024 * 1024;

/** An entry whose body has a key of its own. */
interface Headed extends Omit<CacheEntry, 'body'> {
  readonly bodyBytes: number;
}

/**
 * Cache entries as fields of a hash for each group: `h:` the stamp, the header and a small body, `d:` a larger body, `f:`
 * facts by their digest. For small days that are written together, `h:` is the stamp alone, and one `f:` is a pack of the
 * rest. Where history is on the same server, `h:` of a day that was just added to it is a pointer. The hash expires with
 * its last entry; each entry has its own end in its stamp.
 *
 * @param clock decides whether an entry is over
 * @param hasHistory whether history is on the same server, and in the same slot
 */
export function createRedisCache(
  link: Link,
  keys: Keys,
  bound: Pick<CacheBound, 'admit'>,
  clock: Clock,
  hasHistory: () => boolean,
): CacheStore {
  const known = createKnown();
  const keysOf = ({ series, group, members }: CacheGroup<CachePlace>): [hash: string, month: string] => {
    const hash = keys.cache(series, group);
    const history = members[0]?.history;
    return [hash, history === undefined || !hasHistory() ? hash : keys.history.month(history, group)];
  };
  const read = createReader(link, keys, keysOf, known, clock);

  async function writeGroup(client: RedisClient, group: CacheGroup<Placed>) {
    const { members } = group;
    const [hash, month] = keysOf(group);
    const transaction = client.multi().eval(
      WRITE_GROUP,
      2 + members.length,
      hash,
      month,
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
      if (stamp.pointer === undefined) facts.set(stamp.facts, write.facts);
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
    mayPoint: ({ history, group }, bodyBytes) =>
      history !== undefined &&
      // The script would copy larger ones.
      bodyBytes <= OWN_KEY_ABOVE_BYTES &&
      hasHistory() &&
      !known.gone.has(keys.history.month(history, group)),
    // What was sent before is done before: commands of one series go to one server, over one connection.
    read,
    async write(entries) {
      if (entries.length === 0) return;
      const writes = stampAll(entries, clock.now());
      await bound.admit(writes.reduce((sum, one) => sum + bytesOf(one), 0));
      await link.call('multi', (client) =>
        Promise.all(byGroup(writes).map((group) => writeGroup(client, group))),
      );
    },
    async remove(places) {
      if (places.length === 0) return;
      await link.call('pipeline', async (client) => {
        const pipeline = client.pipeline();
        for (const { series, group, members } of byGroup(places)) {
          const names = members.flatMap(({ field }) => [`h:${field}`, `d:${field}`]);
          pipeline.hdel(keys.cache(series, group), ...names);
          pipeline.unlink(...members.map(keys.cacheBody));
        }
        answersOf(await pipeline.exec());
      });
    },
  };
}

/** From earlier reads: facts, and keys of months of history with removed contents. */
const createKnown = () => ({ facts: createKnownFacts(), gone: createLastUsed<true>(REMEMBERED_MONTHS) });
type Known = ReturnType<typeof createKnown>;
type KeysOf = (group: CacheGroup<CachePlace>) => [hash: string, month: string];

/** Reads all groups in one round trip, together with other reads; bodies with keys of their own in further ones. */
function createReader(link: Link, keys: Keys, keysOf: KeysOf, known: Known, clock: Clock) {
  async function addBodies(entries: Map<CachePlace, CacheEntry | Headed | null>): Promise<void> {
    const headed = [...entries].flatMap(([place, entry]) =>
      entry !== null && 'bodyBytes' in entry ? [{ place, entry }] : [],
    );
    for (const batch of batchesOf(headed)) {
      const bodies = await link.call('pipeline', async (client) => {
        const pipeline = client.pipeline();
        for (const { place } of batch) pipeline.getBuffer(keys.cacheBody(place));
        return answersOf(await pipeline.exec());
      });
      for (const [at, { place, entry }] of batch.entries()) {
        const { bodyBytes: _, ...rest } = entry;
        const value = bodies[at];
        const body = Buffer.isBuffer(value) ? decodeVersioned(value, entry.version) : null;
        entries.set(place, body && { ...rest, body });
      }
    }
  }

  return async (places: readonly CachePlace[]): Promise<(CacheEntry | null)[]> => {
    if (places.length === 0) return [];
    const groups = byGroup(places).map((group) => ({ ...group, keys: keysOf(group) }));
    const reads = Array.from({ length: Math.ceil(groups.length / GROUPS_AT_ONCE) }, (_, at) =>
      readOf(groups.slice(at * GROUPS_AT_ONCE, (at + 1) * GROUPS_AT_ONCE)),
    );
    const replies = await Promise.all(reads.map(({ keys, args }) => readGroups(link, keys, args)));
    const nowMs = clock.now();
    const entries = new Map<CachePlace, CacheEntry | Headed | null>();
    for (const [at, { members, keys }] of groups.entries()) {
      const reply = replies[Math.floor(at / GROUPS_AT_ONCE)]?.[at % GROUPS_AT_ONCE] as Reply;
      const parts: Parts = { fields: fieldsOf(reply), open: createPacks(), known: known.facts };
      for (const [nth, place] of members.entries()) {
        const value = reply[0][nth];
        const stamp = readStamp(value);
        if (!value || stamp === null || stamp.endsAtMs <= nowMs) continue;
        const isPointer = stamp.pointer !== undefined;
        const entry = isPointer
          ? pointedEntry(place.field, stamp, parts)
          : ownEntry(place.field, stamp, value, parts);
        if (isPointer && entry === null) known.gone.set(keys[1], true);
        entries.set(place, entry);
      }
    }
    await addBodies(entries);
    return places.map((place) => (entries.get(place) ?? null) as CacheEntry | null);
  };
}

/** More would delay other commands of the server. */
const GROUPS_AT_ONCE = 4;

const readOf = (groups: readonly (CacheGroup<CachePlace> & { readonly keys: readonly string[] })[]) => ({
  keys: groups.flatMap(({ keys }) => keys),
  args: groups.flatMap(({ members }) => [`${members.length}`, ...members.map(({ field }) => `h:${field}`)]),
});

const readGroups = readScript<readonly Reply[]>('dgwReadCache', READ_GROUPS);

type Values = readonly (Buffer | null)[];
/** Of one group: heads, then names and values in turns. */
type Reply = readonly [heads: Values, ...others: Values[]];

/** What entries of one group are made of. */
interface Parts {
  /** By name. */
  readonly fields: ReadonlyMap<string, Buffer>;
  readonly open: ReturnType<typeof createPacks>;
  readonly known: ReturnType<typeof createKnownFacts>;
}

/** Each pack is opened once for all of its days. */
function createPacks() {
  const opened = new Map<Buffer | undefined, DayContents>();
  return (pack: Buffer | undefined): DayContents => {
    const days = opened.get(pack) ?? unpackDays(pack ?? null);
    opened.set(pack, days);
    return days;
  };
}

/** A write with its place, as `byGroup` takes it. */
type Placed = StampedWrite & CachePlace;

/** Days that are packed are stored as stamps; the pack is stored as the facts that they share. */
function stampAll(entries: readonly CacheWrite[], nowMs: number): Placed[] {
  const packs = new Map<CacheWrite, Buffer>();
  const packed = entries.filter(({ isPacked, ttlMs }) => isPacked && ttlMs >= 1);
  for (const { members } of byGroup(packed)) {
    const pack = packDays(new Map(members.map((day) => [day.field, day])));
    for (const day of members) packs.set(day, pack);
  }
  return entries.map((write): Placed => {
    const { series, group, field, history } = write;
    const facts = packs.get(write);
    const stored = facts === undefined ? write : { ...write, header: NOTHING, body: NOTHING, facts };
    return { ...{ series, group, field, history }, ...stampWrite(stored, nowMs) };
  });
}

const NOTHING = Buffer.alloc(0);

const bytesOf = ({ head, write }: StampedWrite) => head.length + write.body.length + write.facts.length;

/** A missing part is a missing entry. @param value stamp, header and a small body */
function ownEntry(
  field: string,
  { version, bodyBytes, facts: digest, isPacked }: Stamp,
  value: Buffer,
  { fields, open, known }: Parts,
): CacheEntry | Headed | null {
  const stored = fields.get(`f:${digest}`);
  if (isPacked) return ofVersion(version, open(stored).get(field));
  const isBehind = bodyBytes <= BEHIND_HEAD_BYTES;
  const headEnd = isBehind ? value.length - bodyBytes : value.length;
  if (headEnd < STAMP_BYTES || stored === undefined) return null;
  const header = value.subarray(STAMP_BYTES, headEnd);
  const facts = known.add(digest, stored);
  if (bodyBytes > OWN_KEY_ABOVE_BYTES) return { version, header, facts, bodyBytes };
  const body = isBehind ? value.subarray(headEnd) : fields.get(`d:${field}`);
  return body === undefined ? null : { version, header, body, facts };
}

/** The content of history that a pointer names; null if it was removed. */
function pointedEntry(
  field: string,
  { version, pointer }: Stamp,
  { fields, open, known }: Parts,
): CacheEntry | null {
  const loose = unpackContent(fields.get(`${field}:${pointer}`) ?? null);
  const facts = fields.get(`f:${loose?.digest}`);
  const entry =
    loose === null
      ? ofVersion(version, open(fields.get(`p:${pointer}`)).get(field))
      : ofVersion(version, facts && { ...loose, facts: known.add(loose.digest, facts) });
  return entry && { ...entry, isHistory: true };
}

function ofVersion(version: number, entry: CacheEntry | undefined): CacheEntry | null {
  return entry?.version === version ? entry : null;
}

function fieldsOf([, ...others]: Reply): Parts['fields'] {
  const fields = new Map<string, Buffer>();
  for (let at = 0; at < others.length; at += 2)
    for (const [nth, name] of (others[at] ?? []).entries()) {
      const value = others[at + 1]?.[nth];
      if (value) fields.set(String(name), value);
    }
  return fields;
}

function batchesOf<T extends { readonly entry: Headed }>(found: readonly T[]): T[][] {
  const batches: T[][] = [];
  let left = 0;
  for (const one of found) {
    const { bodyBytes } = one.entry;
    if (bodyBytes > left) {
      batches.push([]);
      left = BATCH_BYTES;
    }
    batches.at(-1)?.push(one);
    left -= bodyBytes;
  }
  return batches;
}
