/**
 * The store as a cache that never throws: an unavailable store or an unreadable entry is a miss and a metric.
 * Own writes can be read before they are stored.
 */
import type { Logger } from 'pino';
import { turn } from '../../lib/time.js';
import { type CacheEntry, type CacheStore, replaces, StoreUnavailable } from '../../store/port.js';
import type { Count } from '../../telemetry/counters.js';
import { createOutage } from '../../telemetry/outage.js';
import type { ReadWhen } from '../days/read-days.js';
import type { EntryKey } from '../query/platform-call.js';
import { decodeEntry, type RawEntry, type RawWrite } from './entry.js';

export interface TierRead {
  readonly entries: readonly (RawEntry | null)[];
  /** Why the store failed; null: it did not. */
  readonly fault: unknown;
}

export interface TierWrite extends Omit<RawWrite, 'id'> {
  readonly key: EntryKey;
  readonly ttlMs: number;
}

export type CacheTier = ReturnType<typeof createCacheTier>;

interface Encoding {
  readonly store: CacheStore;
  /** The clock of the versions, which is that of the store of days. */
  readonly versionClockMs: () => number;
  /** Entries as bytes, in the same order; large ones on another thread. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly Buffer[]>;
}

export function createCacheTier({
  store,
  versionClockMs,
  encode,
  logger,
  count,
}: Encoding & {
  readonly logger: Logger;
  readonly count: Count;
}) {
  /** Pending writes by name, readable until stored. */
  const underWay = new Map<string, TierWrite>();

  const writes = createOutage({
    logger,
    counted: 'answers',
    lasts: 'the cache cannot be written: answers stay in memory',
    over: 'the cache is written again',
  });

  function notWritten(error: unknown): void {
    if (error instanceof StoreUnavailable && error.why === 'no-room') {
      count('store_faults', { kind: 'full' });
      // Debug level: a full store is reported elsewhere.
      logger.debug({ err: error }, 'the cache store is full');
      return;
    }
    count('store_faults', { kind: 'unavailable' });
    writes.failed({ err: error });
  }

  async function decode({ id }: EntryKey, found: CacheEntry | null): Promise<RawEntry | null> {
    const decoded = found && (await decodeEntry(id, found));
    // Unknown: a newer release has written it.
    if (decoded === 'unknown') return null;
    if (decoded !== 'damaged') return decoded;
    count('store_faults', { kind: 'damaged' });
    logger.warn({ key: id }, 'ignored a damaged cache entry');
    return null;
  }

  async function readStore(keys: readonly EntryKey[], { begin, after }: ReadWhen): Promise<TierRead> {
    try {
      if (begin !== undefined) await begin;
      const found = await store.read(
        keys.map(({ id }) => id),
        after,
      );
      const entries = await Promise.all(keys.map((key, at) => decode(key, found[at] ?? null)));
      return { entries, fault: null };
    } catch (fault) {
      count('store_faults', { kind: 'unavailable' });
      return { entries: keys.map(() => null), fault };
    }
  }

  async function writeStore(entries: readonly TierWrite[], begin: Promise<unknown>): Promise<boolean> {
    try {
      await begin;
      const encoded = await encode(
        entries.map(({ key, version, header, body }) => ({ id: key.id, version, header, body })),
      );
      await store.write(
        entries.map(({ key: { id }, version, ttlMs }, at) => ({
          id,
          version,
          ttlMs,
          bytes: encoded[at] as Buffer,
          atMs: versionClockMs(),
        })),
      );
      writes.worked();
      return true;
    } catch (error) {
      notWritten(error);
      return false;
    }
  }

  return {
    /** What this process is writing just now: the store is not asked. */
    beingWritten: ({ id }: EntryKey): TierWrite | null => underWay.get(id) ?? null,
    /** @param keys of one series */
    async read(keys: readonly EntryKey[], when: ReadWhen = {}): Promise<TierRead> {
      const written = keys.map(({ id }) => underWay.get(id) ?? null);
      const { entries, fault } = await readStore(keys, when);
      return {
        entries: entries.map((entry, at) => newerOf(written[at] ?? null, entry, versionClockMs())),
        fault,
      };
    },
    /**
     * @param entries of one series
     * @param begin not before it
     * @returns whether the entries were stored
     */
    async write(entries: readonly TierWrite[], begin: Promise<unknown> = turn()): Promise<boolean> {
      for (const entry of entries) {
        // The newer content wins, as in the store.
        if (replaces(entry.version, underWay.get(entry.key.id)?.version ?? 0, versionClockMs()))
          underWay.set(entry.key.id, entry);
      }
      const isStored = await writeStore(entries, begin);
      for (const entry of entries) if (underWay.get(entry.key.id) === entry) underWay.delete(entry.key.id);
      return isStored;
    },
  };
}

/** By the stores' rule: a pending write may be older than the entry of another replica. */
function newerOf(written: TierWrite | null, present: RawEntry | null, atMs: number): RawEntry | null {
  if (written === null || present === null) return written ?? present;
  return replaces(written.version, present.version, atMs) ? written : present;
}
