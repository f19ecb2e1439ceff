/**
 * The store as a cache: entries in, entries out, and never an error. A store that is away, or an entry that is
 * damaged, foreign or of another form, is a miss, a log line and a count.
 */
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type CacheStore, type CacheWrite, StoreUnavailable } from '../store/port.js';
import { decodeEntry, type RawEntry } from './entry.js';

export interface TierRead {
  readonly entries: readonly (RawEntry | null)[];
  /** The store did not answer. */
  readonly degraded: boolean;
}

/** What is kept under a key. */
export interface RawWrite {
  readonly header: object;
  readonly body: Buffer;
}

export interface TierWrite extends RawWrite {
  readonly key: string;
  /** When its content began to be fetched, epoch milliseconds: the newer entry wins. */
  readonly version: number;
  readonly ttlMs: number;
}

export interface CacheTier {
  /** Keys of one call share a hash tag. */
  read(keys: readonly string[]): Promise<TierRead>;
  /** @returns whether the entries were kept */
  write(entries: readonly TierWrite[]): Promise<boolean>;
}

/** full: the store answers, and has no room for what is to be kept. */
export type TierFault = 'unavailable' | 'damaged' | 'full';

export interface CacheTierOptions {
  readonly store: CacheStore;
  /** Headers and bodies as bytes, in the same order; of large bodies on another thread. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly Buffer[]>;
  readonly logger: Logger;
  readonly onFault: (fault: TierFault) => void;
}

export function createCacheTier({ store, encode, logger, onFault }: CacheTierOptions): CacheTier {
  function fail(error: unknown, doing: string): void {
    if (error instanceof StoreUnavailable && error.why === 'no-room') {
      onFault('full');
      // Not for each entry: how full the store is is told elsewhere.
      logger.debug({ err: error }, 'the cache store has no room');
      return;
    }
    onFault('unavailable');
    logger.warn({ err: error }, `the cache store failed while ${doing}`);
  }

  return {
    async read(keys) {
      try {
        const values = await store.getMany(keys);
        const entries = values.map((bytes, index) => {
          if (bytes === null) return null;
          const entry = decodeEntry(bytes);
          if (entry === null) {
            onFault('damaged');
            logger.warn({ key: keys[index] }, 'a damaged cache entry was ignored');
          }
          return entry;
        });
        return { entries, degraded: false };
      } catch (error) {
        fail(error, 'reading');
        return { entries: keys.map(() => null), degraded: true };
      }
    },
    async write(entries) {
      try {
        const values = await encode(entries.map(({ header, body }) => ({ header, body })));
        const writes = entries.map(({ key, version, ttlMs }, index) => ({
          key,
          version,
          ttlMs,
          value: values[index] as Buffer,
        }));
        for (const batch of batches(writes)) {
          await store.setMany(batch);
          // A hit that came meanwhile goes first.
          if (batch.length < writes.length) await setImmediate();
        }
        return true;
      } catch (error) {
        fail(error, 'writing');
        return false;
      }
    },
  };
}

/** Beyond it, one write would hold up everybody else's reads. */
const BATCH_BYTES = 1_048_576;

/** In order; most answers are one batch. */
function batches(writes: readonly CacheWrite[]): CacheWrite[][] {
  const all: CacheWrite[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const write of writes) {
    if (size + write.value.length > BATCH_BYTES) {
      all.push([]);
      size = 0;
    }
    all.at(-1)?.push(write);
    size += write.value.length;
  }
  return all;
}
