/** Entries of the cache for tests that are not about their form. */
import type { CacheStore } from '../../src/store/port.js';

export interface NamedEntry {
  readonly key: string;
  readonly value: Buffer;
  readonly ttlMs: number;
  readonly version: number;
}

export function keep(cache: CacheStore, entries: readonly NamedEntry[]): Promise<void> {
  return cache.write(entries.map(({ key, value, ...more }) => ({ id: key, bytes: value, ...more })));
}

/** @returns bytes, in the order of the ids; null for what is absent */
export async function bodiesOf(cache: CacheStore, ids: readonly string[]): Promise<(Buffer | null)[]> {
  return (await cache.read(ids)).map((entry) => entry?.bytes ?? null);
}

export async function forget(cache: CacheStore, ids: readonly string[]): Promise<void> {
  const versions = (await cache.read(ids)).map((entry) => entry?.version ?? 0);
  await keep(
    cache,
    ids.map((key, at) => ({ key, value: Buffer.alloc(0), ttlMs: 0, version: versions[at] as number })),
  );
}
