import type { CachePlace } from '../port.js';
import { StoreRefused } from '../refused.js';

/** The versions of the key layout: changed when values of an older release must not be read. */
const LAYOUT = 1;
/** Of cache entries alone; 1 and 2 had a key for each entry, 3 a field for each body. */
const CACHE_LAYOUT = 4;

export interface Keys {
  /** Of a cache group, a hash; the series decides the slot. */
  cache(series: string, group: string): string;
  /** Of a body that is too large for the hash of its group. */
  cacheBody(place: CachePlace): string;
  /** The keys of all cache entries, those of the layout before among them, as a pattern. */
  readonly cachePattern: string;
  lease(key: string): string;
  readonly history: MonthKeys;
  readonly pins: MonthKeys;
  /** All in one slot, with the index of their ends. */
  readonly quotas: { readonly ends: string; bucket(key: string): string };
  /** All in one slot, so that one script may touch many. */
  readonly counters: { readonly ends: string; readonly batches: string; group(name: string): string };
  /** All in one slot: the ends of purses, what is charged to each, charges that are open, and ids of those that have ended. */
  readonly charges: readonly [ends: string, purses: string, open: string, ended: string];
  /** All in one slot, with the index of their ends, and how many bytes they have together. */
  readonly documents: { readonly ends: string; readonly bytes: string; document(key: string): string };
  /** All in one slot: the index of ends, and the set of ids; what is known of each is at its key, a colon and the id. */
  readonly presence: { readonly ends: string; readonly ids: string };
  channel(name: string): string;
  /** All in one slot, so that one script may touch them all. */
  readonly registry: readonly [
    meta: string,
    records: string,
    revisions: string,
    tombstones: string,
    audit: string,
  ];
}

/** The list of all months; and of each, a hash. */
export interface MonthKeys {
  readonly months: string;
  month(series: string, month: string): string;
}

/** @throws StoreRefused when the prefix would break the hash tags. */
export function createKeys(prefix: string): Keys {
  if (!/^[A-Za-z0-9_.-]+$/.test(prefix)) {
    throw new StoreRefused(`the Redis key prefix "${prefix}" must be made of letters, digits, _ . and -`);
  }
  const base = `${prefix}:${LAYOUT}`;
  const registry = `${base}:{registry}`;
  return {
    cache: (series, group) => `${prefix}:${CACHE_LAYOUT}:cache:{${series}}:${group}`,
    // With a length, so that no group and field are another group and field.
    cacheBody: ({ series, group, field }) =>
      `${prefix}:${CACHE_LAYOUT}:cache-body:{${series}}:${group.length}:${group}:${field}`,
    cachePattern: `${prefix}:[${CACHE_LAYOUT - 1}${CACHE_LAYOUT}]:cache*`,
    lease: (key) => `${base}:lease:${key}`,
    history: monthKeys(`${base}:history`),
    pins: monthKeys(`${base}:pins`),
    quotas: { ends: `${base}:{quotas}:ends`, bucket: (key) => `${base}:{quotas}:bucket:${key}` },
    counters: {
      ends: `${base}:{tallies}:ends`,
      batches: `${base}:{tallies}:batches`,
      group: (name) => `${base}:{tallies}:book:${name}`,
    },
    charges: [
      `${base}:{charges}:ends`,
      `${base}:{charges}:purses`,
      `${base}:{charges}:open`,
      `${base}:{charges}:ended`,
    ],
    documents: {
      ends: `${base}:{notes}:ends`,
      bytes: `${base}:{notes}:bytes`,
      document: (key) => `${base}:{notes}:note:${key}`,
    },
    // Not below the ids' own key, where an id could be called so.
    presence: { ends: `${base}:present:{presence}:ends`, ids: `${base}:{presence}` },
    channel: (name) => `${base}:bus:${name}`,
    registry: [
      `${registry}:meta`,
      `${registry}:records`,
      `${registry}:revisions`,
      `${registry}:tombstones`,
      `${registry}:audit`,
    ],
  };
}

function monthKeys(base: string): MonthKeys {
  return { months: base, month: (series, month) => `${base}:{${series}}:${month}` };
}
