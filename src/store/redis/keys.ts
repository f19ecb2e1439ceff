import type { CachePlace } from '../port.js';
import { StoreRefused } from '../refused.js';

/** Version of the key layout: changed when values of an older release must not be read. */
const LAYOUT = 1;
/** Of cache entries alone; 1 and 2 had a key for each entry, 3 a field for each body. */
const CACHE_LAYOUT = 4;

export type Keys = ReturnType<typeof createKeys>;

/** Of the days of reports. */
export type DaysKeys = Keys['days'];

/** The set of all months, and a hash for each. */
export type MonthKeys = Keys['history'];

/** @throws StoreRefused when the prefix would break the hash tags. */
export function createKeys(prefix: string) {
  if (!/^[A-Za-z0-9_.-]+$/.test(prefix)) {
    throw new StoreRefused(`the Redis key prefix "${prefix}" must be made of letters, digits, _ . and -`);
  }
  const base = `${prefix}:${LAYOUT}`;
  const cache = `${prefix}:${CACHE_LAYOUT}:cache`;
  const registry = `${base}:{registry}`;
  const charges = `${base}:{charges}`;
  const monthKeys = (name: string) => ({
    months: `${base}:${name}`,
    month: (series: string, month: string) => `${base}:${name}:{${series}}:${month}`,
  });
  return {
    /** The hash of a cache group; the series decides the slot. */
    cache: (series: string, group: string) => `${cache}:{${series}}:${group}`,
    /** A body too large for the hash of its group. With a length, so that the parts are unambiguous. */
    cacheBody: ({ series, group, field }: CachePlace) =>
      `${cache}-body:{${series}}:${group.length}:${group}:${field}`,
    /** Pattern of the keys of all cache entries, including the previous layout. */
    cachePattern: `${prefix}:[${CACHE_LAYOUT - 1}${CACHE_LAYOUT}]:cache*`,
    lease: (key: string) => `${base}:lease:${key}`,
    history: monthKeys('history'),
    oldPins: monthKeys('pins'),
    /** The set of all owners, and a hash for each, in the slot of its old pins. */
    pins: { owners: `${base}:pinned`, pins: (owner: string) => `${base}:pinned:{${owner}}` },
    days: {
      months: `${base}:days`,
      uses: `${base}:days-used`,
      month: (series: string, month: string) => `${base}:days:{${series}}:${month}`,
      locks: (series: string) => `${base}:days:{${series}}:locks`,
    },
    /** In one slot, with the index of their ends. */
    quotas: { ends: `${base}:{quotas}:ends`, bucket: (key: string) => `${base}:{quotas}:bucket:${key}` },
    /** In one slot, so that one script may change many. */
    counters: {
      ends: `${base}:{tallies}:ends`,
      batches: `${base}:{tallies}:batches`,
      group: (name: string) => `${base}:{tallies}:book:${name}`,
    },
    /** In one slot: ends of purses, totals of purses, open charges, ids of ended ones. */
    charges: [`${charges}:ends`, `${charges}:purses`, `${charges}:open`, `${charges}:ended`],
    /** In one slot, with the index of their ends, and the sum of their bytes. */
    documents: {
      ends: `${base}:{notes}:ends`,
      bytes: `${base}:{notes}:bytes`,
      document: (key: string) => `${base}:{notes}:note:${key}`,
    },
    /** In one slot: the index of ends, and the set of ids. The info of each is at the latter key, a colon and the id. */
    presence: { ends: `${base}:present:{presence}:ends`, ids: `${base}:{presence}` },
    channel: (name: string) => `${base}:bus:${name}`,
    /** In one slot: meta, records, revisions, tombstones, audit. */
    registry: [
      `${registry}:meta`,
      `${registry}:records`,
      `${registry}:revisions`,
      `${registry}:tombstones`,
      `${registry}:audit`,
    ],
  } as const;
}
