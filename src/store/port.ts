/**
 * The interface of the store, which all replicas share. `redis` and `embedded` implement it, and one conformance
 * suite (`test/store/conformance.ts`) runs against both. The store handles text and bytes, never queries, teams or
 * tokens.
 */
import type { Charges } from './charges-port.js';
import type { HistoryStore } from './history-port.js';

/** Where an entry is. The entries of a series are stored together, in groups of fields. */
export interface CachePlace {
  readonly series: string;
  readonly group: string;
  readonly field: string;
}

/** Longest header, bytes: with the store's stamp at most 128. */
export const HEADER_MAX_BYTES = 94;

/** An entry; the store does not parse its bytes. The buffers may be shared and must not be changed. */
export interface CacheEntry {
  /** When the fetch of the content began, epoch milliseconds, rounded down; from 0 to 2^48 - 1, else a RangeError. */
  readonly version: number;
  /** At most {@link HEADER_MAX_BYTES}, else a RangeError. */
  readonly header: Buffer;
  readonly body: Buffer;
  /** Stored once for all entries of a group, or of more, with equal bytes. Read together, they have the same buffer. */
  readonly facts: Buffer;
}

/** An entry to be written. */
export interface CacheWrite extends CachePlace, CacheEntry {
  /**
   * Only collects garbage, by the writer's clock. A finite number, else a RangeError; below 1 ms the entry is gone at
   * once.
   */
  readonly ttlMs: number;
}

/**
 * Lossy, fast and bounded in time. Every call may reject with {@link StoreUnavailable}, which callers treat as a
 * miss.
 * The places of one call are of one series, so that a cluster finds them in one slot.
 */
export interface CacheStore {
  /**
   * @returns the entries in the order of `places`; null for what is absent, expired or incomplete. The reader checks
   *   for damage.
   * @param after a call of this store for names of the same series, begun just before: the read sees its effects,
   *   however it ends
   */
  read(places: readonly CachePlace[], after?: Promise<unknown>): Promise<(CacheEntry | null)[]>;
  /**
   * Writes all entries, of different places, in one round trip.
   * The newer content wins: an entry with a higher version than the write stays, with its lifetime, unless it is more
   * than {@link VERSION_LEAD_MAX_MS} higher: then a wrong clock made it.
   */
  write(entries: readonly CacheWrite[]): Promise<void>;
  remove(places: readonly CachePlace[]): Promise<void>;
}

/** How much newer than a write an entry may be. */
export const VERSION_LEAD_MAX_MS = 5 * 60_000;

/** Short leases on names, in real time, of at least 1 ms. They end by themselves; nothing is fenced by them. */
export interface Leases {
  /** @returns for each key whether `owner` now holds it. A lease it already held is extended, and counts. */
  claim(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Extends what `owner` still holds. @returns for each key whether it was still held. */
  renew(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /**
   * Releases only what `owner` holds.
   * @param news published on the bus afterwards
   */
  release(keys: readonly string[], owner: string, news?: BusMessage): Promise<void>;
}

/** A record, and the version of the registry at which it last changed. */
export interface RegistryRecord {
  readonly value: string;
  readonly revision: number;
}

export interface RegistrySnapshot {
  /** Another one when the registry was emptied, or restored from elsewhere. '': there is no registry. */
  readonly epoch: string;
  /** Grows by one with every commit. */
  readonly version: number;
  readonly records: ReadonlyMap<string, RegistryRecord>;
}

/** A registry as a replica knew it, to be created again where there is none. */
export interface RegistryImage extends RegistrySnapshot {
  /** Audit lines, stored in the same transaction. */
  readonly audit: readonly string[];
}

export interface RegistryDelta {
  readonly epoch: string;
  readonly version: number;
  /** Null: deleted. */
  readonly changed: ReadonlyMap<string, RegistryRecord | null>;
}

export interface RegistryCommit {
  /** Record id to text; null deletes, if there is a record. */
  readonly writes: ReadonlyMap<string, string | null>;
  /** Record id to the revision it must still have; 0: absent. Otherwise the commit throws {@link RegistryConflict}. */
  readonly expect?: ReadonlyMap<string, number>;
  /** Audit lines, stored in the same transaction. */
  readonly audit?: readonly string[];
  /** The expected epoch, else {@link RegistryConflict} of {@link ANOTHER_REGISTRY}. */
  readonly epoch?: string;
  /** The expected version, else {@link RegistryConflict} of {@link ANOTHER_VERSION}. */
  readonly version?: number;
}

/** The change is made, but fewer replicas than wanted have confirmed it: it could be lost with the server. */
export interface Unconfirmed {
  readonly replicas: number;
  readonly wanted: number;
}

export interface RegistryCommitted {
  readonly version: number;
  readonly unconfirmed?: Unconfirmed;
}

/** Ids of conflicts that no single record causes. */
export const ANOTHER_REGISTRY = 'meta/epoch';
export const ANOTHER_VERSION = 'meta/version';

export interface AuditLine {
  /** Grows with time. */
  readonly id: string;
  readonly text: string;
}

/**
 * Small, durable, never evicted: teams, key hashes, sealed tokens, purges. A resolved `commit` survives `kill -9`
 * (embedded) and, as far as the deployment replicates, a failover (Redis, by WAIT).
 */
export interface RegistryStore {
  /** @param absent where there is no registry: `create` an empty one, or `leave` it so and return the epoch '' */
  load(absent?: 'create' | 'leave'): Promise<RegistrySnapshot>;
  /**
   * Creates this registry where there is neither an epoch nor any record. Earlier deletions are forgotten.
   * @returns whether it was created
   */
  create(image: RegistryImage): Promise<boolean>;
  /**
   * Whether the server asked last is another one, or was restarted, since the last load that found a registry. False
   * where that is unknown.
   */
  movedOn(): boolean;
  /** @returns what changed after `version`; null where that is unknown: then `load()` */
  changes(epoch: string, version: number): Promise<RegistryDelta | null>;
  /**
   * Makes all writes and audit lines, or none. @returns the new version. @throws RegistryConflict
   * After {@link StoreUnavailable} the change may have been made, or be made later: read before a retry. After one
   * with `no-room` it was not.
   */
  commit(change: RegistryCommit): Promise<RegistryCommitted>;
  /** Newest first. @param before an {@link AuditLine.id}, exclusive; before anything else there is nothing */
  readAudit(limit: number, before?: string): Promise<AuditLine[]>;
}

/** Limits of the registry. */
export interface RegistryLimits {
  /** Most audit lines; the oldest are deleted. */
  readonly auditMax: number;
  /** Most deletions remembered for `changes()`. A reader that misses a forgotten one must `load()`. */
  readonly tombstonesMax: number;
}

export function limitsOf({
  auditMax = 100_000,
  tombstonesMax = 10_000,
}: Partial<RegistryLimits>): RegistryLimits {
  return { auditMax, tombstonesMax };
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

/** Durable counters, in groups of fields; as durable as the registry. */
export interface Counters {
  /**
   * Applies all or nothing: first adds (an absent field is 0), then raises fields to at least `to`. A field stops at
   * ±(2^53 - 1).
   * A `batchId` is applied at most once: after {@link StoreUnavailable} the same batch may be repeated, within 10
   * minutes of real time.
   * @param ttlMs a group is deleted so long, in real time, after the last batch that changed it; at least 1 ms, else
   *   a RangeError
   */
  add(
    batchId: string,
    adds: readonly CounterAdd[],
    raises: readonly CounterRaise[],
    ttlMs: number,
  ): Promise<void>;
  /** @returns the fields of each group in the order of `groups`; none for an absent one */
  read(groups: readonly string[]): Promise<ReadonlyMap<string, number>[]>;
}

/** Longest text of a document, bytes of UTF-8. */
export const DOCUMENT_MAX_BYTES = 2 * 1024 * 1024;

/**
 * Small documents with an end, as durable as the registry. A longer text than {@link DOCUMENT_MAX_BYTES}, or a
 * lifetime below 1 ms, is a RangeError. Lifetimes are in real time and only collect garbage.
 * After {@link StoreUnavailable} the change may have been made: `get` before a retry. After one with `no-room` it was
 * not: all documents share a limit of bytes, and long ones three quarters of it.
 */
export interface Documents {
  /** Creates the document unless it exists. @returns null when created, else the existing text */
  create(key: string, text: string, ttlMs: number): Promise<string | null>;
  get(key: string): Promise<string | null>;
  /**
   * Replaces the text if it is `before`. @param after null deletes, and `ttlMs` is ignored. @returns whether it was
   * `before`
   */
  replace(key: string, before: string, after: string | null, ttlMs: number): Promise<boolean>;
}

export interface QuotaTake {
  /** Whole permits, 0 or more; 0 only looks. */
  readonly want: number;
  /**
   * What a full bucket holds, 0 or more. When it changes, what was used stays used; in a bucket that refills, at most
   * the new capacity.
   */
  readonly capacity: number;
  /** 0 or more, fractions allowed; 0: never, as in a daily share. */
  readonly refillPerMs: number;
  /**
   * The caller's time. A bucket does not refill backwards. If it is more than {@link CLOCK_LEAD_MAX_MS} ahead of the
   * caller, its time was wrong, and the caller's time replaces it.
   */
  readonly nowMs: number;
  /** A bucket is full again so long, in real time, after the last call that wanted any; at least 1 ms. */
  readonly ttlMs: number;
}

export interface QuotaGrant {
  /** As many of `want` as were there. */
  readonly granted: number;
  /** Whole permits that are there now. */
  readonly left: number;
  /** Milliseconds from `nowMs` until there is one more than `left`; Infinity for never. */
  readonly nextInMs: number;
}

/** How far a bucket may be ahead of a call's time. */
export const CLOCK_LEAD_MAX_MS = 5000;

/** Token buckets, lossy and fast. A new bucket is full. Any other number than documented is a RangeError. */
export interface Quotas {
  take(key: string, take: QuotaTake): Promise<QuotaGrant>;
  /**
   * Returns unused permits, whole ones, 0 or more. A bucket never holds more than its capacity. @returns the whole
   * permits left, as of the last `take`
   */
  give(key: string, count: number, capacity: number): Promise<number>;
}

export interface Present {
  readonly id: string;
  readonly info: string;
}

/** Which replicas run, in real time; lossy. */
export interface Presence {
  /** Announces an id for another `ttlMs`, of at least 1 ms. */
  beat(id: string, info: string, ttlMs: number): Promise<void>;
  leave(id: string): Promise<void>;
  /** @returns those not expired, sorted by id (by UTF-16 code units) */
  list(): Promise<Present[]>;
}

export interface BusMessage {
  readonly channel: string;
  readonly message: string;
}

/** Messages between replicas. They may be lost: everything they announce is also found by polling. */
export interface Bus {
  publish(channel: string, message: string): Promise<void>;
  /**
   * The publisher receives its own messages too.
   * @param onGap called when messages may have been lost, as the connection is back
   * @returns ends the subscription
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): () => void;
}

export interface StoreHealth {
  readonly ok: boolean;
  /** It answers, but too late. */
  readonly slow?: boolean;
  /** What is wrong, for people, without secrets; also when it answers but has no memory left. */
  readonly reason?: string;
}

/** How full a shared store is, by its last answer; bytes of all its servers together. */
export interface StoreMemory {
  /** Null: unknown. */
  readonly usedBytes: number | null;
  /** Null: no limit. */
  readonly maxBytes: number | null;
  /** Beyond it nothing more is cached; null: no bound. */
  readonly cacheMaxBytes: number | null;
  /** It refuses changes for lack of memory. */
  readonly full: boolean;
}

export interface Store {
  readonly kind: 'redis' | 'embedded';
  readonly cache: CacheStore;
  readonly history: HistoryStore;
  /** The same interface over a separate place, where nothing is aged out. */
  readonly pins: HistoryStore;
  readonly leases: Leases;
  /** For changes of the registry: on the same server, and with the same time limit. */
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
  /** How full it is, without a round trip. Absent where only the disk bounds it. */
  memory?(): StoreMemory;
  /**
   * Copies everything durable into a new folder of this machine. Absent where a server stores it.
   * @param withHistory false: without history and pins
   * @param begin called before anything is copied, when the folder can be created
   * @throws BackupTargetRefused, StoreRefused, StoreUnavailable; the copy is then removed
   */
  backup?(folder: string, withHistory: boolean, begin: () => Promise<void>): Promise<void>;
  /** Flushes and closes files, locks and sockets. */
  close(): Promise<void>;
}

/** The store did not answer, or not in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** @param why no-room: it had no memory or disk for the write, and has not made it */
  constructor(
    message?: string,
    readonly why: 'away' | 'no-room' = 'away',
  ) {
    super(message);
  }
}

/** Another writer has changed the record since it was read. */
export class RegistryConflict extends Error {
  override readonly name = 'RegistryConflict';
  readonly id: string;
  constructor(id: string) {
    super(`the record ${id} was changed in between`);
    this.id = id;
  }
}
