/**
 * The store as a cache: entries in, entries out, and never an error. A store that is away, or an entry that is
 * damaged, foreign or of another form, is a miss, a log line and a count.
 */
import type { Logger } from 'pino';
import type { EntryKey } from '../report/keys.js';
import { replaces } from '../store/entry-stamp.js';
import { type CacheEntry, type CacheStore, type CacheWrite, StoreUnavailable } from '../store/port.js';
import { turn } from '../time.js';
import { type Decoded, decodeEntries, type EncodedEntry, type RawEntry, type RawWrite } from './entry.js';

export interface TierRead {
  readonly entries: readonly (RawEntry | null)[];
  /** The store did not answer. */
  readonly degraded: boolean;
}

export interface TierWrite extends Omit<RawWrite, 'id'> {
  readonly key: EntryKey;
  readonly ttlMs: number;
}

/** When the store is asked. */
export interface ReadWhen {
  /** Not before it. What is written by this process from now on is not read all the same. */
  readonly begin?: Promise<unknown>;
  /** A call of the store for the same series, begun just before: see {@link CacheStore.read}. */
  readonly after?: Promise<unknown>;
}

/** The entries of one call are of one series. What this process writes it reads at once, before the store has it. */
export interface CacheTier {
  read(keys: readonly EntryKey[], when?: ReadWhen): Promise<TierRead>;
  /**
   * @param begin the store is not given them before it; a turn of the event loop, so that what is asked for goes first
   * @returns whether the entries were kept
   */
  write(entries: readonly TierWrite[], begin?: Promise<unknown>): Promise<boolean>;
}

/** full: the store answers, and has no room for what is to be kept. */
export type TierFault = 'unavailable' | 'damaged' | 'full';

export interface CacheTierOptions {
  readonly store: CacheStore;
  /** Entries as bytes, in the same order; large ones on another thread. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  readonly logger: Logger;
  readonly onFault: (fault: TierFault) => void;
}

export function createCacheTier(options: CacheTierOptions): CacheTier {
  return withOwnWrites(createStoreTier(options));
}

/** Reads what this process is writing from memory, unless the store has something newer: what came last may be older. */
function withOwnWrites(tier: CacheTier): CacheTier {
  /** By the entry's name. */
  const underWay = new Map<string, TierWrite>();
  return {
    async read(keys, when) {
      const written = keys.map(({ id }) => underWay.get(id) ?? null);
      const { entries, degraded } = await tier.read(keys, when);
      return { entries: entries.map((entry, at) => winnerOf(written[at] ?? null, entry)), degraded };
    },
    async write(entries, begin = turn()) {
      for (const entry of entries) {
        // The newer content wins, as in the store.
        if (replaces(entry.version, underWay.get(entry.key.id)?.version ?? 0))
          underWay.set(entry.key.id, entry);
      }
      const isKept = await tier.write(entries, begin);
      for (const entry of entries) if (underWay.get(entry.key.id) === entry) underWay.delete(entry.key.id);
      return isKept;
    },
  };
}

/** Of what is being written and what is there, by the rule of the stores. */
function winnerOf(written: TierWrite | null, present: RawEntry | null): RawEntry | null {
  if (written === null || present === null) return written ?? present;
  return replaces(written.version, present.version) ? written : present;
}

function createStoreTier({ store, encode, logger, onFault }: CacheTierOptions): CacheTier {
  const size = createReadSize();

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

  function ifUsable(decoded: Decoded, { id }: EntryKey): RawEntry | null {
    // A release that is newer has written it.
    if (decoded === 'unknown') return null;
    if (decoded !== 'damaged') return decoded;
    onFault('damaged');
    logger.warn({ key: id }, 'a damaged cache entry was ignored');
    return null;
  }

  async function decode(keys: readonly EntryKey[], found: readonly (CacheEntry | null)[]) {
    const there = keys.flatMap((key, at) => {
      const entry = found[at] ?? null;
      return entry === null ? [] : [{ id: key.id, key, at, entry }];
    });
    const entries: (RawEntry | null)[] = keys.map(() => null);
    for (const [at, decoded] of (await decodeEntries(there)).entries()) {
      const { key, at: place } = there[at] as (typeof there)[number];
      entries[place] = ifUsable(decoded, key);
    }
    return entries;
  }

  return {
    async read(keys, { begin, after } = {}) {
      try {
        if (begin !== undefined) await begin;
        const entries: (RawEntry | null)[] = [];
        while (entries.length < keys.length) {
          const batch = keys.slice(entries.length, entries.length + size.entriesPerRead);
          const found = await store.read(batch, after);
          size.note(found);
          entries.push(...(await decode(batch, found)));
        }
        return { entries, degraded: false };
      } catch (error) {
        fail(error, 'reading');
        return { entries: keys.map(() => null), degraded: true };
      }
    },
    async write(entries, begin) {
      try {
        await begin;
        const encoded = await encode(
          entries.map(({ key, version, header, body }) => ({ id: key.id, version, header, body })),
        );
        const writes = entries.map(({ key, version, ttlMs }, at) => ({
          ...{ series: key.series, group: key.group, field: key.field, version, ttlMs },
          ...(encoded[at] as EncodedEntry),
        }));
        for (const batch of batches(writes)) {
          await store.write(batch);
          // A hit that came meanwhile goes first.
          if (batch.length < writes.length) await turn();
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
const WRITE_BYTES = 1_048_576;
/** What one read is expected to bring at most, by what reads have brought. */
const READ_BYTES = 2 * 1_048_576;
/** Before anything was read: 400 days of 5 KB are 2 MiB. */
const USUAL_BYTES = 5 * 1024;
const MANY = 8;
/** How much the latest read counts. */
const LATEST_PART = 0.25;

/** Tells how many entries to ask for at once, so that a read of large ones does not hold up everybody else's. */
function createReadSize() {
  let entryBytes = USUAL_BYTES;
  return {
    get entriesPerRead(): number {
      return Math.max(1, Math.floor(READ_BYTES / entryBytes));
    },
    note(entries: readonly (CacheEntry | null)[]): void {
      const found = entries.filter((entry) => entry !== null);
      // A few that are large, as whole answers are, say nothing of days, and are never more than a few.
      if (found.length < MANY) return;
      const bytes = found.reduce((sum, { body, header }) => sum + body.length + header.length, 0);
      entryBytes += (bytes / found.length - entryBytes) * LATEST_PART;
      // However small they are, 400 at once are enough.
      entryBytes = Math.max(entryBytes, USUAL_BYTES);
    },
  };
}

/** In order; most answers are one batch. */
function batches(writes: readonly CacheWrite[]): CacheWrite[][] {
  const all: CacheWrite[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const write of writes) {
    const bytes = write.header.length + write.body.length + write.facts.length;
    if (size + bytes > WRITE_BYTES) {
      all.push([]);
      size = 0;
    }
    all.at(-1)?.push(write);
    size += bytes;
  }
  return all;
}
