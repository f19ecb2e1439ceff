import type { Clock } from '../../clock.js';
import { byGroup, type CacheGroup } from '../cache-groups.js';
import { readStamp, STAMP_BYTES, type Stamp } from '../entry-stamp.js';
import type { KnownFacts } from '../known-facts.js';
import type { CacheEntry, CachePlace } from '../port.js';
import { BEHIND_HEAD_BYTES, OWN_KEY_ABOVE_BYTES } from './cache-scripts.js';
import type { RedisClient } from './connection.js';
import { answersOf } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import { createReadBatches } from './read-batches.js';
import { decodeVersioned } from './versioned-value.js';

/** From so many fields on the whole hash of a group is read: it holds little else, and brings the facts with it. */
const WHOLE_GROUP_FROM = 16;
/** Bodies with keys of their own are read so many bytes at a time. */
const BATCH_BYTES = 2 * 1024 * 1024;

export interface CacheReaderOptions {
  readonly link: Link;
  readonly keys: Keys;
  readonly known: KnownFacts;
  readonly clock: Clock;
}

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
 * Reads entries, all groups in one round trip with those of others; in a second one what cannot be told before: facts that
 * this process has not met yet, and bodies with keys of their own.
 */
export function createCacheReader({ link, keys, known, clock }: CacheReaderOptions) {
  const readHashes = createReadBatches();

  async function readGroups(client: RedisClient, groups: readonly CacheGroup<CachePlace>[]) {
    const reads = groups.map(({ series, group, members }) => ({
      hash: keys.cache(series, group),
      fields: members.length >= WHOLE_GROUP_FROM ? null : namesOf(members),
    }));
    const replies = answersOf(await readHashes(client, reads));
    return reads.map(({ fields }, at) => fieldsOf(fields ?? NO_NAMES, replies[at]));
  }

  function find(places: readonly CachePlace[], fields: ReadonlyMap<string, Buffer>): Found[] {
    // Only a hash that was read as a whole brings more than what was asked for.
    if (places.length >= WHOLE_GROUP_FROM)
      for (const [name, bytes] of fields) if (name.startsWith('f:')) known.add(name.slice(2), bytes);
    const nowMs = clock.now();
    return places.flatMap((place) => findOne(place, fields, known, nowMs) ?? []);
  }

  async function readFacts(found: readonly Found[]): Promise<void> {
    const missing = found.filter(({ facts }) => facts === undefined);
    const groups = byGroup(missing.map((one) => ({ ...one.place, one })));
    const digestsOf = ({ members }: (typeof groups)[number]) => [
      ...new Set(members.map(({ one }) => one.stamp.facts)),
    ];
    await link.call(async (client) => {
      const pipeline = client.pipeline();
      for (const group of groups) {
        const hash = keys.cache(group.series, group.group);
        pipeline.hmgetBuffer(hash, ...digestsOf(group).map((digest) => `f:${digest}`));
      }
      const replies = answersOf(await pipeline.exec());
      for (const [at, group] of groups.entries()) {
        const read = fieldsOf(digestsOf(group), replies[at]);
        for (const [digest, bytes] of read) read.set(digest, known.add(digest, bytes));
        for (const { one } of group.members) one.facts = read.get(one.stamp.facts);
      }
    });
  }

  async function readOwnBodies(found: readonly Found[]): Promise<void> {
    for (const batch of batchesOf(found.filter(({ body }) => body === null))) {
      await link.call(async (client) => {
        const pipeline = client.pipeline();
        for (const { place } of batch) pipeline.getBuffer(keys.cacheBody(place));
        const replies = answersOf(await pipeline.exec());
        for (const [at, one] of batch.entries()) {
          const value = replies[at];
          one.body = Buffer.isBuffer(value) ? decodeVersioned(value, one.stamp.version) : null;
        }
      });
    }
  }

  return {
    async read(places: readonly CachePlace[]): Promise<(CacheEntry | null)[]> {
      if (places.length === 0) return [];
      const groups = byGroup(places);
      const fields = await link.call((client) => readGroups(client, groups));
      const found = groups.flatMap(({ members }, at) => find([...new Set(members)], fields[at] as Fields));
      if (found.some(({ facts }) => facts === undefined)) await readFacts(found);
      if (found.some(({ body }) => body === null)) await readOwnBodies(found);
      const entries = new Map(found.map((one) => [one.place, entryOf(one)]));
      return places.map((place) => entries.get(place) ?? null);
    },
  };
}

type Fields = Map<string, Buffer>;

const NO_NAMES: readonly string[] = [];

/** @returns null for what is over, or of which a part is lost */
function findOne(
  place: CachePlace,
  fields: ReadonlyMap<string, Buffer>,
  known: KnownFacts,
  nowMs: number,
): Found | null {
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
  const facts = known.get(stamp.facts) ?? fields.get(`f:${stamp.facts}`);
  return { place, stamp, header: value.subarray(STAMP_BYTES, headEnd), body, facts };
}

/** A missing part is a missing entry. */
function entryOf({ stamp, header, body, facts }: Found): CacheEntry | null {
  return body === null || facts === undefined ? null : { version: stamp.version, header, body, facts };
}

function namesOf(places: readonly CachePlace[]): string[] {
  return places.flatMap(({ field }) => [`h:${field}`, `d:${field}`]);
}

/** @param reply values in the order of `names`, or all fields of a hash by their name; anything else is none */
function fieldsOf(names: readonly string[], reply: unknown): Fields {
  const fields: Fields = new Map();
  if (Array.isArray(reply)) {
    for (const [at, name] of names.entries()) if (Buffer.isBuffer(reply[at])) fields.set(name, reply[at]);
    return fields;
  }
  for (const [name, value] of Object.entries(reply ?? {}))
    if (Buffer.isBuffer(value)) fields.set(name, value);
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
