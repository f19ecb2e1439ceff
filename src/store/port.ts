/**
 * The shared state of all replicas, as a port. Two adapters: `redis` and `embedded`; one conformance suite
 * (`test/store/conformance.ts`) holds both to what is written here.
 *
 * The store sees strings and bytes, never queries, teams or tokens.
 */
import type { Charges } from './charges-port.js';
import type { HistoryStore } from './history-port.js';

/** Where an entry is: texts the store does not look into. Entries of one series lie together, in groups of fields. */
export interface CachePlace {
  readonly series: string;
  readonly group: string;
  readonly field: string;
}

/** The longest header, in bytes: with the stamp that a store puts in front of it no more than 128. */
export const HEADER_MAX_BYTES = 94;

/** An entry, in bytes the store does not look into. The buffers may be shared: they must not be written to. */
export interface CacheEntry {
  /**
   * When the content began to be fetched: milliseconds since the Unix epoch, rounded down; from 0 to 2^48 - 1, else a
   * RangeError.
   */
  readonly version: number;
  /** What is the entry's own; longer than {@link HEADER_MAX_BYTES}: a RangeError. */
  readonly header: Buffer;
  readonly body: Buffer;
  /**
   * What it shares with other entries: kept once for those of a group, or of more, that have the same bytes. Read
   * together, they have the same buffer.
   */
  readonly facts: Buffer;
}

/** An entry to be written. The TTL only collects garbage; freshness is decided by the reader. */
export interface CacheWrite extends CachePlace, CacheEntry {
  /** A finite number, else a RangeError; an entry of less than 1 ms is gone at once. By the writer's clock. */
  readonly ttlMs: number;
}

/**
 * Lossy, fast, bounded in time. Every call may reject with {@link StoreUnavailable}, and does so within the
 * adapter's timeout; callers treat that as a miss.
 * Places of one call are of one series, so that a cluster finds them in one slot.
 */
export interface CacheStore {
  /**
   * @returns the entries in the order of `places`; null for what is absent, over, or no entry. An entry of which a part
   * has been lost, be it header, body or facts, is absent. Whether bytes are damaged is for the reader to see.
   * @param after a call of this store for names of the same series, begun just before: it is read what is there when that
   *   is done, however it ends. A server that does things in turn is sent both at once.
   */
  read(places: readonly CachePlace[], after?: Promise<unknown>): Promise<(CacheEntry | null)[]>;
  /**
   * Writes all entries, of different places, in one round trip. Entries always expire.
   *
   * The newer content wins: an entry stays, with the lifetime it has, when its version is higher than that of the
   * write. One that is more than {@link VERSION_LEAD_MAX_MS} higher is replaced all the same: it was made by a clock
   * that was wrong, which must not block a place for as long as the entry lives.
   */
  write(entries: readonly CacheWrite[]): Promise<void>;
  remove(places: readonly CachePlace[]): Promise<void>;
}

/** How much newer than a write an entry may claim to be. */
export const VERSION_LEAD_MAX_MS = 5 * 60_000;

/** Short leases on names, in real time, of at least 1 ms. A lease ends by itself; nothing is fenced by it. */
export interface Leases {
  /** @returns for each key whether `owner` now holds it (a lease it already held is extended and counts). */
  claim(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Extends what `owner` still holds. @returns for each key whether it was still held. */
  renew(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /**
   * Compare-and-delete: only what `owner` holds is released.
   * @param news what is said on the bus of it, when it is done
   */
  release(keys: readonly string[], owner: string, news?: BusMessage): Promise<void>;
}

/** A record as read: its text and the registry version at which it last changed. */
export interface RegistryRecord {
  readonly value: string;
  readonly revision: number;
}

export interface RegistrySnapshot {
  /** Changes when the registry is a different one (emptied, or restored elsewhere). '': there is none. */
  readonly epoch: string;
  /** Grows by one with every commit. */
  readonly version: number;
  readonly records: ReadonlyMap<string, RegistryRecord>;
}

/** A registry as it was known somewhere, to be made again where there is none. */
export interface RegistryImage extends RegistrySnapshot {
  /** Audit lines, stored in the same transaction. */
  readonly audit: readonly string[];
}

export interface RegistryDelta {
  readonly epoch: string;
  readonly version: number;
  /** Changed since the version asked for; null when deleted. */
  readonly changed: ReadonlyMap<string, RegistryRecord | null>;
}

export interface RegistryCommit {
  /** Record id to new text; null deletes, and does nothing where there is no record. */
  readonly writes: ReadonlyMap<string, string | null>;
  /**
   * Record id to the revision it must still have (0 = must be absent). The commit is refused with
   * {@link RegistryConflict} when any differs. Ids that are not named are written unconditionally.
   */
  readonly expect?: ReadonlyMap<string, number>;
  /** Audit lines, stored in the same transaction: no audit, no change. */
  readonly audit?: readonly string[];
  /** The registry it is meant for; in any other it is refused with {@link RegistryConflict} of {@link ANOTHER_REGISTRY}. */
  readonly epoch?: string;
  /** Refused with {@link RegistryConflict} of {@link ANOTHER_VERSION} unless the registry is at just this version. */
  readonly version?: number;
}

/** A change that is made, and could be lost with the server: fewer replicas than wanted have confirmed it. */
export interface Unconfirmed {
  readonly replicas: number;
  readonly wanted: number;
}

export interface RegistryCommitted {
  readonly version: number;
  readonly unconfirmed?: Unconfirmed;
}

/** Ids of conflicts that no single record is at fault for. */
export const ANOTHER_REGISTRY = 'meta/epoch';
export const ANOTHER_VERSION = 'meta/version';

export interface AuditLine {
  /** Grows with time; page backwards with it. */
  readonly id: string;
  readonly text: string;
}

/**
 * Small, durable, never evicted: teams, key hashes, sealed tokens, purges. A resolved `commit` survives
 * `kill -9` (embedded) and, as far as the deployment replicates, a failover (Redis, by WAIT).
 */
export interface RegistryStore {
  /**
   * @param absent what to do where there is no registry: `create` an empty one, or `leave` it so, which is told by the
   *   epoch ''
   */
  load(absent?: 'create' | 'leave'): Promise<RegistrySnapshot>;
  /**
   * Makes a registry with this epoch, version and records, where there is neither an epoch nor any record; deletions
   * before are forgotten.
   * @returns whether it was made; else nothing was done
   */
  create(image: RegistryImage): Promise<boolean>;
  /**
   * Whether the server asked last is another one, or another start of it, than the one of the last load that found a
   * registry. False where that cannot be told.
   */
  movedOn(): boolean;
  /** @returns what changed after `version`, or null when that can no longer be told: then `load()`. */
  changes(epoch: string, version: number): Promise<RegistryDelta | null>;
  /**
   * All writes and audit lines, or none. @returns the new version. @throws RegistryConflict
   *
   * After {@link StoreUnavailable} the change may have been made all the same, unanswered, or be made later, where the
   * disk of the embedded store is late: read before trying again. After one with `no-room` it was not.
   */
  commit(change: RegistryCommit): Promise<RegistryCommitted>;
  /** Newest first; `before` is an {@link AuditLine.id}, exclusive. Nothing comes before what is no id. */
  readAudit(limit: number, before?: string): Promise<AuditLine[]>;
}

export interface CounterAdd {
  readonly group: string;
  readonly field: string;
  /** A safe integer, else a RangeError. */
  readonly by: number;
}

export interface CounterRaise {
  readonly group: string;
  readonly field: string;
  /** A safe integer, else a RangeError. */
  readonly to: number;
}

/**
 * Durable counters, in groups of fields. A resolved `add` survives what a resolved {@link RegistryStore.commit}
 * survives.
 */
export interface Counters {
  /**
   * All or nothing: first adds to fields, of which an absent one is 0, then raises fields to the greater of what they
   * are and `to`; an absent one becomes `to`. A field stops at ±(2^53 - 1).
   *
   * A `batchId` is applied at most once: who got {@link StoreUnavailable} may repeat the call, with the same batch,
   * within 10 minutes of real time.
   *
   * @param ttlMs A group is gone so long, in real time, after the last batch that touched it; of at least 1 ms, else a
   * RangeError. It only collects garbage.
   */
  add(
    batchId: string,
    adds: readonly CounterAdd[],
    raises: readonly CounterRaise[],
    ttlMs: number,
  ): Promise<void>;
  /** @returns the fields of each group in the order of `groups`; none for one that is absent. */
  read(groups: readonly string[]): Promise<ReadonlyMap<string, number>[]>;
}

/** The longest text of a document, in bytes of UTF-8. */
export const DOCUMENT_MAX_BYTES = 2 * 1024 * 1024;

/**
 * Durable small documents with an end, as durable as the registry but no part of it. A text of more than
 * {@link DOCUMENT_MAX_BYTES} is a RangeError, and so is a lifetime of less than 1 ms. Lifetimes are in real time and only
 * collect garbage; readers decide by their own clock.
 *
 * After {@link StoreUnavailable} the change may have been made all the same: `get` before trying again. After one with
 * `no-room` it was not: all documents together may have so many bytes, and long ones only three quarters of them.
 */
export interface Documents {
  /** Where there is none, makes the document. @returns null when made, else the text that is there. */
  create(key: string, text: string, ttlMs: number): Promise<string | null>;
  get(key: string): Promise<string | null>;
  /**
   * Where the text is `before`, makes it `after`, with a lifetime of its own; null deletes the document, and `ttlMs` is
   * not looked at.
   * @returns whether it was `before`
   */
  replace(key: string, before: string, after: string | null, ttlMs: number): Promise<boolean>;
}

export interface QuotaTake {
  /** Whole permits asked for, 0 or more; 0 only looks, and changes nothing. */
  readonly want: number;
  /**
   * What a full bucket holds, 0 or more. A bucket whose capacity is changed keeps what was used of it; one that refills,
   * no more than the new capacity, so that it is never empty for longer than it takes to refill.
   */
  readonly capacity: number;
  /** Permits that come back, 0 or more, fractions allowed; 0: none ever, as in a daily share. */
  readonly refillPerMs: number;
  /**
   * The caller's time. With an older one than a call before had, nothing refills; by up to {@link CLOCK_LEAD_MAX_MS} the
   * bucket keeps the later time, for clocks of callers differ a little. Beyond it the clock of a call before was wrong,
   * or has been set since: the bucket goes on from the caller's time.
   */
  readonly nowMs: number;
  /** A bucket is full again so long after the last call that wanted any, in real time; at least 1 ms. */
  readonly ttlMs: number;
}

export interface QuotaGrant {
  /** As many of `want` as were there. */
  readonly granted: number;
  /** Whole permits that are there now. */
  readonly left: number;
  /** Milliseconds from `nowMs` until there is one more than `left`; Infinity when there never will be. */
  readonly nextInMs: number;
}

/** How far ahead of a call's time a bucket may be. */
export const CLOCK_LEAD_MAX_MS = 5000;

/** Token buckets: lossy and quick. A new bucket is full. A number that is not as said here is a RangeError. */
export interface Quotas {
  take(key: string, take: QuotaTake): Promise<QuotaGrant>;
  /**
   * Gives permits that were not used back; a bucket never holds more than its capacity.
   * @param count whole permits, 0 or more
   * @returns the whole permits there are then, as of the last `take`
   */
  give(key: string, count: number, capacity: number): Promise<number>;
}

export interface Present {
  readonly id: string;
  readonly info: string;
}

/** Who is there, in real time; lossy. */
export interface Presence {
  /** Is there, with this `info`, for another `ttlMs` of at least 1 ms. */
  beat(id: string, info: string, ttlMs: number): Promise<void>;
  leave(id: string): Promise<void>;
  /** @returns those not lapsed, sorted by id (by UTF-16 code units). */
  list(): Promise<Present[]>;
}

export interface BusMessage {
  readonly channel: string;
  readonly message: string;
}

/** Messages between replicas: fast, and allowed to be lost. Everything said here is also found by polling. */
export interface Bus {
  publish(channel: string, message: string): Promise<void>;
  /**
   * The publisher hears its own messages too.
   * @param onGap messages may have been lost: the connection is back
   * @returns a function that ends the subscription
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): () => void;
}

export interface StoreHealth {
  readonly ok: boolean;
  /** Set where it answers, but too late to be of use. */
  readonly slow?: boolean;
  /** What is wrong, for people; holds no secret. Also of a store that answers, but has no memory left. */
  readonly reason?: string;
}

/** How full a shared store is, as it said last, bytes; of all its servers together. */
export interface StoreMemory {
  /** Null: it does not tell. */
  readonly usedBytes: number | null;
  /** Null: no limit. */
  readonly maxBytes: number | null;
  /** What it may use before nothing more is cached; null: no bound. */
  readonly cacheMaxBytes: number | null;
  /** It refuses changes for lack of memory. */
  readonly full: boolean;
}

export interface Store {
  readonly kind: 'redis' | 'embedded';
  readonly cache: CacheStore;
  readonly history: HistoryStore;
  /** The same port, in a place of its own: nothing in it ages. */
  readonly pins: HistoryStore;
  readonly leases: Leases;
  /** For whoever is about to change the registry: they wait as long as its changes do, and lie where it lies. */
  readonly registryLeases: Leases;
  readonly registry: RegistryStore;
  readonly counters: Counters;
  readonly charges: Charges;
  readonly documents: Documents;
  readonly quotas: Quotas;
  readonly presence: Presence;
  readonly bus: Bus;
  /** The latest known state, without a round trip. */
  health(): StoreHealth;
  /** How full it is, without a round trip. Absent where nothing but the disk bounds it. */
  memory?(): StoreMemory;
  /**
   * Copies all that is durable into a new folder of this machine. Absent where a server of its own keeps it.
   * @param withHistory false: without what reports said, and pins
   * @param begin called when the folder can be made, before anything is copied
   * @throws BackupTargetRefused, StoreRefused, StoreUnavailable; nothing is left of the copy then
   */
  backup?(folder: string, withHistory: boolean, begin: () => Promise<void>): Promise<void>;
  /** Flushes and lets go of files, locks and sockets. */
  close(): Promise<void>;
}

/** The store did not answer, or not in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** @param why no-room: it answered, had no memory for what was to be written, and has not written it */
  constructor(
    message?: string,
    readonly why: 'away' | 'no-room' = 'away',
  ) {
    super(message);
  }
}

/** A record was changed by someone else in between. */
export class RegistryConflict extends Error {
  override readonly name = 'RegistryConflict';
  readonly id: string;
  constructor(id: string) {
    super(`the record ${id} was changed in between`);
    this.id = id;
  }
}
