/** Entries of the cache for tests that are not about their form: `{series}field` names one. */
import type { CachePlace, CacheStore, CacheWrite } from '../../src/store/port.js';

export interface NamedEntry {
  readonly key: string;
  readonly value: Buffer;
  readonly ttlMs: number;
  readonly version: number;
}

/** @param name `{series}field`; without braces, a field of the series `s` */
function placeOf(name: string): CachePlace {
  const [, series = 's', field = name] = /^\{(.*?)\}(.*)$/.exec(name) ?? [];
  return { series, group: 'g', field };
}

function writeOf({ key, value, ttlMs, version }: NamedEntry): CacheWrite {
  const [header, facts] = [Buffer.from('header'), Buffer.from('{}')];
  return { ...placeOf(key), version, header, body: value, facts, ttlMs };
}

export function keep(cache: CacheStore, entries: readonly NamedEntry[]): Promise<void> {
  return cache.write(entries.map(writeOf));
}

/** @returns bodies, in the order of the names; null for what is absent */
export async function bodiesOf(cache: CacheStore, names: readonly string[]): Promise<(Buffer | null)[]> {
  const found = await cache.read(names.map(placeOf));
  return found.map((entry) => entry?.body ?? null);
}

export function forget(cache: CacheStore, names: readonly string[]): Promise<void> {
  return cache.remove(names.map(placeOf));
}
