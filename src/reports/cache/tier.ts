/**
 * The store as a cache that never throws: an unavailable store or an unreadable entry is a miss, a log line and a metric.
 * Own writes can be read before they are stored.
 */
import type { Logger } from 'pino';
import { turn } from '../../lib/time.js';
import { replaces } from '../../store/entry-stamp.js';
import { groupsToPack } from '../../store/history-content.js';
import { type CacheEntry, type CacheStore, type CacheWrite, StoreUnavailable } from '../../store/port.js';
import { contentName, type EntryKey } from '../query/keys.js';
import { decodeEntries, type EncodedEntry, type RawEntry, type RawWrite } from './entry.js';

export interface TierRead {
  readonly entries: readonly (RawEntry | null)[];
  /** Whether the store failed. */
  readonly degraded: boolean;
}

export interface TierWrite extends Omit<RawWrite, 'id'> {
  readonly key: EntryKey;
  readonly ttlMs: number;
}

export interface ReadWhen {
  /** Not before it. Later writes of this process are not read all the same. */
  readonly begin?: Promise<unknown>;
  /** A store call for the same series that was just sent; see {@link CacheStore.read}. */
  readonly after?: Promise<unknown>;
}

/** Days that a fetch has added to history, with the names of their contents there. */
type AddedDays = ReadonlyMap<string, string>;

export interface WriteWhen {
  /** Not before it. */
  readonly begin: Promise<unknown>;
  /** Not before it either, if an entry may be a pointer: those of these days are. */
  readonly added?: Promise<AddedDays> | undefined;
}

/** full: the store responds but has no space. */
export type TierFault = 'unavailable' | 'damaged' | 'full';

export type CacheTier = ReturnType<typeof createCacheTier>;

interface Encoding {
  readonly store: CacheStore;
  /** Entries as bytes, in the same order; large ones on another thread. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
}

export function createCacheTier({
  store,
  encode,
  logger,
  onFault,
}: Encoding & {
  readonly logger: Logger;
  readonly onFault: (fault: TierFault) => void;
}) {
  const size = createReadSize();
  /** Pending writes by name, readable until stored. */
  const underWay = new Map<string, TierWrite>();

  function fail(error: unknown, doing: string): void {
    if (error instanceof StoreUnavailable && error.why === 'no-room') {
      onFault('full');
      // Debug level: a full store is reported elsewhere.
      logger.debug({ err: error }, 'the cache store is full');
      return;
    }
    onFault('unavailable');
    logger.warn({ err: error }, `the cache store failed while ${doing}`);
  }

  async function decode(keys: readonly EntryKey[], found: readonly (CacheEntry | null)[]) {
    const there = keys.flatMap((key, at) => {
      const entry = found[at] ?? null;
      return entry === null ? [] : [{ id: entry.isHistory ? nameInHistory(key) : key.id, at, entry }];
    });
    const entries: (RawEntry | null)[] = keys.map(() => null);
    for (const [at, decoded] of (await decodeEntries(there)).entries()) {
      const { id, at: place } = there[at] as (typeof there)[number];
      if (decoded === 'damaged') {
        onFault('damaged');
        logger.warn({ key: id }, 'ignored a damaged cache entry');
      } else if (decoded !== 'unknown') entries[place] = decoded; // Unknown: a newer release has written it.
    }
    return entries;
  }

  async function readStore(keys: readonly EntryKey[], { begin, after }: ReadWhen): Promise<TierRead> {
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
  }

  async function writeStore(entries: readonly TierWrite[], { begin, added }: WriteWhen): Promise<boolean> {
    try {
      await begin;
      const mayPoint = added !== undefined && entries.some((entry) => canPoint(store, entry));
      const writes = await encodeWrites({ store, encode }, entries, mayPoint ? await added : NONE_ADDED);
      for (const batch of batches(writes)) {
        await store.write(batch);
        // Lets pending hits go first.
        if (batch.length < writes.length) await turn();
      }
      return true;
    } catch (error) {
      fail(error, 'writing');
      return false;
    }
  }

  const beingWritten = (keys: readonly EntryKey[]) => keys.map(({ id }) => underWay.get(id) ?? null);

  return {
    /** What this process is writing just now: the store is not asked. */
    beingWritten,
    /** @param keys of one series */
    async read(keys: readonly EntryKey[], when: ReadWhen = {}): Promise<TierRead> {
      const written = beingWritten(keys);
      const { entries, degraded } = await readStore(keys, when);
      return { entries: entries.map((entry, at) => newerOf(written[at] ?? null, entry)), degraded };
    },
    /**
     * @param entries of one series
     * @returns whether the entries were stored
     */
    async write(entries: readonly TierWrite[], when: WriteWhen = { begin: turn() }): Promise<boolean> {
      for (const entry of entries) {
        // The newer content wins, as in the store.
        if (replaces(entry.version, underWay.get(entry.key.id)?.version ?? 0))
          underWay.set(entry.key.id, entry);
      }
      const isStored = await writeStore(entries, when);
      for (const entry of entries) if (underWay.get(entry.key.id) === entry) underWay.delete(entry.key.id);
      return isStored;
    },
  };
}

const dateOf = ({ group, field }: EntryKey) => `${group}-${field}`;
const nameInHistory = (key: EntryKey) => contentName(key.history ?? '', dateOf(key));

const NOTHING = Buffer.alloc(0);
const NO_BYTES = { header: NOTHING, body: NOTHING, facts: NOTHING };

/** By the stores' rule: a pending write may be older than the entry of another replica. */
function newerOf(written: TierWrite | null, present: RawEntry | null): RawEntry | null {
  if (written === null || present === null) return written ?? present;
  return replaces(written.version, present.version) ? written : present;
}

const NONE_ADDED: AddedDays = new Map();

function canPoint(store: CacheStore, { key, body }: TierWrite): boolean {
  return key.history !== undefined && store.mayPoint?.(key, body.length) === true;
}

/** With their bytes, or as pointers to the same bytes in history. */
async function encodeWrites(
  { store, encode }: Encoding,
  entries: readonly TierWrite[],
  added: AddedDays,
): Promise<CacheWrite[]> {
  const pointerOf = (entry: TierWrite) => (canPoint(store, entry) ? added.get(dateOf(entry.key)) : undefined);
  const pointers = new Map(entries.map((entry) => [entry, pointerOf(entry)]));
  const own = entries.filter((entry) => pointers.get(entry) === undefined);
  const packed = store.packs ? packedOf(own) : new Set();
  const encoded = await encode(
    own.map((entry) => {
      const { key, version, header, body } = entry;
      return { id: key.id, version, header, body, isPlain: packed.has(entry) };
    }),
  );
  const bytes = new Map(own.map((entry, at) => [entry, encoded[at]]));
  return entries.map((entry): CacheWrite => {
    const { series, group, field, history } = entry.key;
    const pointer = pointers.get(entry);
    return {
      ...{ series, group, field, history, version: entry.version, ttlMs: entry.ttlMs },
      ...(bytes.get(entry) ?? NO_BYTES),
      ...(pointer !== undefined && { pointer }),
      ...(packed.has(entry) && { isPacked: true as const }),
    };
  });
}

/** Days that the store compresses together. */
function packedOf(entries: readonly TierWrite[]): ReadonlySet<TierWrite> {
  const groups = groupsToPack(
    entries,
    ({ key, ttlMs }) => (key.history === undefined || ttlMs < 1 ? null : key.group),
    ({ body }) => body,
  );
  return new Set([...groups.values()].flat());
}

/** A larger write would delay the reads of others. */
const WRITE_BYTES = 1_048_576;
/** Expected size of one read at most. */
const READ_BYTES = 2 * 1_048_576;
/** Assumed size of an entry before the first read: 400 days of 5 KB are 2 MiB. */
const USUAL_BYTES = 5 * 1024;
const MANY = 8;
/** Weight of the latest read. */
const LATEST_PART = 0.25;

/** Adapts the batch size of reads, so that large entries do not delay other reads. */
function createReadSize() {
  let entryBytes = USUAL_BYTES;
  return {
    get entriesPerRead(): number {
      return Math.max(1, Math.floor(READ_BYTES / entryBytes));
    },
    note(entries: readonly (CacheEntry | null)[]): void {
      const found = entries.filter((entry) => entry !== null);
      // Few entries are usually whole answers, which say nothing about days.
      if (found.length < MANY) return;
      const bytes = found.reduce((sum, { body, header }) => sum + body.length + header.length, 0);
      entryBytes += (bytes / found.length - entryBytes) * LATEST_PART;
      // 400 at once are enough.
      entryBytes = Math.max(entryBytes, USUAL_BYTES);
    },
  };
}

/** Most answers are one batch. */
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
