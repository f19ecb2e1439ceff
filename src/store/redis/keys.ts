import { StoreRefused } from '../refused.js';

/** The versions of the key layout: changed when values of an older release must not be read. */
const LAYOUT = 1;
/** Of cache entries alone; from 2 on they start with their version. */
const CACHE_LAYOUT = 2;

export interface Keys {
  /** The caller's own `{hash tag}` decides the slot. */
  cache(key: string): string;
  /** The keys of all cache entries, as a pattern. */
  readonly cachePattern: string;
  lease(key: string): string;
  /** All in one slot, with the index of their ends. */
  readonly quotas: { readonly ends: string; bucket(key: string): string };
  /** All in one slot, so that one script may touch many. */
  readonly tallies: { readonly ends: string; readonly batches: string; book(name: string): string };
  /** All in one slot, with the index of their ends, and how many bytes they have together. */
  readonly notes: { readonly ends: string; readonly bytes: string; note(key: string): string };
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

/** @throws StoreRefused when the prefix would break the hash tags. */
export function createKeys(prefix: string): Keys {
  if (!/^[A-Za-z0-9_.-]+$/.test(prefix)) {
    throw new StoreRefused(`the Redis key prefix "${prefix}" must be made of letters, digits, _ . and -`);
  }
  const base = `${prefix}:${LAYOUT}`;
  const registry = `${base}:{registry}`;
  return {
    cache: (key) => `${prefix}:${CACHE_LAYOUT}:cache:${key}`,
    cachePattern: `${prefix}:${CACHE_LAYOUT}:cache:*`,
    lease: (key) => `${base}:lease:${key}`,
    quotas: { ends: `${base}:{quotas}:ends`, bucket: (key) => `${base}:{quotas}:bucket:${key}` },
    tallies: {
      ends: `${base}:{tallies}:ends`,
      batches: `${base}:{tallies}:batches`,
      book: (name) => `${base}:{tallies}:book:${name}`,
    },
    notes: {
      ends: `${base}:{notes}:ends`,
      bytes: `${base}:{notes}:bytes`,
      note: (key) => `${base}:{notes}:note:${key}`,
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
