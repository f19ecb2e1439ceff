import type { MonthPlace } from '../days-port.js';
import { StoreRefused } from '../refused.js';

/** Version of the key layout: changed when values of an older release must not be read. */
const LAYOUT = 1;
/** Of cache entries alone. */
const CACHE_LAYOUT = 5;
/** Earlier ones: digits for a pattern. */
const EARLIER_CACHE = '34';

/** What the key of an outbox has more than that of its month. */
const OUTBOX = ':told';
const MONTH_CHARS = 7;

/** A month as a member of sorted sets. */
export const memberOf = ({ series, month }: MonthPlace) => `${month}|${series}`;

export const placeOfMember = (member: string): MonthPlace => ({
  month: member.slice(0, MONTH_CHARS),
  series: member.slice(MONTH_CHARS + 1),
});

export type Keys = ReturnType<typeof createKeys>;

/** Of the days of reports. */
export type DaysKeys = Keys['days'];
export type ChangesKeys = Keys['changes'];

/** @throws StoreRefused when the prefix would break the hash tags. */
export function createKeys(prefix: string) {
  if (!/^[A-Za-z0-9_.-]+$/.test(prefix)) {
    throw new StoreRefused(`the Redis key prefix "${prefix}" must be made of letters, digits, _ . and -`);
  }
  const base = `${prefix}:${LAYOUT}`;
  const registry = `${base}:{registry}`;
  const charges = `${base}:{charges}`;
  return {
    /** @param id the text in braces, which is that of the series, decides the slot */
    cache: (id: string) => `${prefix}:${CACHE_LAYOUT}:cache:${id}`,
    /** Pattern of the keys of all cache entries, including earlier layouts. */
    cachePattern: `${prefix}:[${EARLIER_CACHE}${CACHE_LAYOUT}]:cache*`,
    lease: (key: string) => `${base}:lease:${key}`,
    /** Of earlier releases: the set of all owners, and a hash for each. */
    oldPins: { owners: `${base}:pins`, pins: (owner: string) => `${base}:pins:{${owner}}:2000-01` },
    /** Of earlier releases: the set of all months of history; patterns of their hashes, and of cache entries. */
    oldLayout: {
      months: `${base}:history`,
      history: `${base}:history:{*}:????-??`,
      cache: [`${prefix}:[${EARLIER_CACHE}]:cache:{*}:*`, `${prefix}:[${EARLIER_CACHE}]:cache-body:{*}:*`],
    },
    /** The set of all owners, and a hash for each, in the slot of its old pins. */
    pins: { owners: `${base}:pinned`, pins: (owner: string) => `${base}:pinned:{${owner}}` },
    days: {
      months: `${base}:days`,
      uses: `${base}:days-used`,
      month: (series: string, month: string) => `${base}:days:{${series}}:${month}`,
      /** Pattern of the keys of all months. */
      anyMonth: `${base}:days:{*}:????-??`,
      /** @param key of a month, or of its outbox */
      placeOf(key: string): MonthPlace {
        const [from, to] = [`${base}:days:{`.length, key.lastIndexOf('}:')];
        return { series: key.slice(from, to), month: key.slice(to + 2, to + 2 + MONTH_CHARS) };
      },
      locks: (series: string) => `${base}:days:{${series}}:locks`,
    },
    /** The feed of changes, in one slot. In a cluster also notes, published numbers, and an outbox in the slot of each month. */
    changes: {
      stream: `${base}:{changes}:stream`,
      meta: `${base}:{changes}:meta`,
      notes: `${base}:{changes}:notes`,
      published: `${base}:{changes}:published`,
      outbox: ({ series, month }: MonthPlace) => `${base}:days:{${series}}:${month}${OUTBOX}`,
      /** Pattern of the keys of all outboxes. */
      anyOutbox: `${base}:days:{*}:????-??${OUTBOX}`,
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
