/**
 * The store as a cache: entries in, entries out, and never an error. A store that is away, or an entry that is
 * damaged, foreign or of another form, is a miss, a log line and a count.
 */
import type { Logger } from 'pino';
import type { CacheStore } from '../store/port.js';
import { decodeEntry, type RawEntry } from './entry.js';

export interface TierRead {
  readonly entries: readonly (RawEntry | null)[];
  /** The store did not answer. */
  readonly degraded: boolean;
}

export interface TierWrite {
  readonly key: string;
  readonly header: object;
  readonly body: Buffer;
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

export type TierFault = 'unavailable' | 'damaged';

export interface CacheTierOptions {
  readonly store: CacheStore;
  /** Header and body as bytes; of large bodies on another thread. */
  readonly encode: (header: object, body: Buffer) => Promise<Buffer>;
  readonly logger: Logger;
  readonly onFault: (fault: TierFault) => void;
}

export function createCacheTier({ store, encode, logger, onFault }: CacheTierOptions): CacheTier {
  function fail(error: unknown, doing: string): void {
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
        const writes = entries.map(async ({ key, header, body, version, ttlMs }) => ({
          key,
          version,
          value: await encode(header, body),
          ttlMs,
        }));
        await store.setMany(await Promise.all(writes));
        return true;
      } catch (error) {
        fail(error, 'writing');
        return false;
      }
    },
  };
}
