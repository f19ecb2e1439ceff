/** Documents that only grow: what one replica saw is added to what all have seen, by compare-and-set. */
import type { Documents } from './port.js';

export interface MergedDocument<T> {
  readonly key: string;
  readonly ttlMs: number;
  /** Null for what a later release has written: it is then left as it is. */
  readonly decode: (text: string) => T | null;
  /** Equal for equal values. */
  readonly encode: (value: T) => string;
  /** @param before null where there is none */
  readonly add: (before: T | null) => T;
}

/** Others write the same at times; each time one of them gets through. */
const TRIES = 5;

/** @returns all that is known now; null where a later release has written it. @throws StoreUnavailable */
export async function mergeDocument<T>(documents: Documents, document: MergedDocument<T>): Promise<T | null> {
  const { key, ttlMs, decode, encode, add } = document;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const text = await documents.get(key);
    const before = text === null ? null : decode(text);
    if (text !== null && before === null) return null;
    const all = add(before);
    const written = encode(all);
    if (written === text) return all;
    const isDone =
      text === null
        ? (await documents.create(key, written, ttlMs)) === null
        : await documents.replace(key, text, written, ttlMs);
    if (isDone) return all;
  }
  throw new Error('other replicas were always quicker');
}
