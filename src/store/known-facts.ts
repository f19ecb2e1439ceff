import { LRUCache } from 'lru-cache';
import { inOwnMemory } from '../own-memory.js';
import { digestOfFacts } from './entry-stamp.js';

const MAX_BYTES = 4 * 1024 * 1024;
/** What one costs beside its bytes, about. */
const OVERHEAD_BYTES = 200;

/** Facts that were read or written before. They are named by their content, so they cannot be out of date. */
export interface KnownFacts {
  get(digest: string): Buffer | undefined;
  /** @returns the facts to go on with: the same buffer for the same bytes */
  add(digest: string, facts: Buffer): Buffer;
}

export function createKnownFacts(): KnownFacts {
  const known = new LRUCache<string, Buffer>({
    maxSize: MAX_BYTES,
    sizeCalculation: (facts) => facts.length + OVERHEAD_BYTES,
  });
  return {
    get: (digest) => known.get(digest),
    add(digest, facts) {
      const present = known.get(digest);
      if (present !== undefined) return present;
      // Damaged ones are for the reader to see, and for nobody else.
      if (digestOfFacts(facts) !== digest) return facts;
      const owned = inOwnMemory(facts);
      known.set(digest, owned);
      return owned;
    },
  };
}
