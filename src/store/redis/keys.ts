import { StoreRefused } from '../refused.js';

/** The version of the key layout: changed when values of an older release must not be read. */
const LAYOUT = 1;

export interface Keys {
  /** The caller's own `{hash tag}` decides the slot. */
  cache(key: string): string;
  lease(key: string): string;
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
    cache: (key) => `${base}:cache:${key}`,
    lease: (key) => `${base}:lease:${key}`,
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
