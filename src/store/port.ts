/**
 * The interface of the store, which all replicas share. The conformance suite (`test/store/conformance.ts`) runs against both
 * `redis` and `embedded`. The store handles text and bytes, never queries, teams or tokens.
 */
import type { Charges } from './charges-port.js';
import type { DaysStore } from './days-port.js';
import type { HistoryStore } from './history-port.js';
import type { PinStore } from './pins-port.js';

/** The entries of a series are stored together, in groups of fields. */
export interface CachePlace {
  readonly series: string;
  readonly group: string;
  readonly field: string;
  /** Of a day: its series in history. Group and field are its month and day there. */
  readonly history?: string | undefined;
}

/** With the store's stamp at most 128. */
export const HEADER_MAX_BYTES = 94;

/** An entry; the store does not parse its bytes. The buffers may be shared and must not be changed. */
export interface CacheEntry {
  /** When the fetch of the content began, epoch milliseconds, rounded down; from 0 to 2^48 - 1, else a RangeError. */
  readonly version: number;
  /** At most {@link HEADER_MAX_BYTES}, else a RangeError. */
  readonly header: Buffer;
  readonly body: Buffer;
  /** Stored once for all entries of a group, or of more, with equal bytes. Entries read together share the buffer. */
  readonly facts: Buffer;
  /** The bytes are those of history: a pointer led to them. */
  readonly isHistory?: true;
}

export interface CacheWrite extends CachePlace, CacheEntry {
  /** By the writer's clock, to collect garbage. A finite number, else a RangeError; below 1 ms the entry is deleted. */
  readonly ttlMs: number;
  /** Compressed together with others of its group, where the store packs. */
  readonly isPacked?: true;
  /** Name of the same content in history, which the store reads instead; the buffers here are empty. */
  readonly pointer?: string;
}

/**
 * Lossy, fast and bounded in time. Every call may reject with {@link StoreUnavailable}, which callers treat as a
 * miss. The places of one call are of one series, which is in one slot of a cluster.
 */
export interface CacheStore {
  /** Whether days that are written together are compressed together; small bodies should then be plain. */
  readonly packs?: true;
  /** Whether an entry with a body of this size may be a pointer. Absent where no entry may. */
  mayPoint?(place: CachePlace, bodyBytes: number): boolean;
  /**
   * @returns the entries in the order of `places`; null for absent, expired or incomplete ones, and for pointers to
   *   removed contents. The reader checks for damage.
   * @param after a call of this store for the same series, begun just before: the read sees its effects, however it ends
   */
  read(places: readonly CachePlace[], after?: Promise<unknown>): Promise<(CacheEntry | null)[]>;
  /**
   * Writes all entries, of different places, in one round trip. A present entry with a higher version stays, with its
   * lifetime, unless it is more than {@link VERSION_LEAD_MAX_MS} higher, as by a wrong clock.
   */
  write(entries: readonly CacheWrite[]): Promise<void>;
  remove(places: readonly CachePlace[]): Promise<void>;
}

export const VERSION_LEAD_MAX_MS = 5 * 60_000;

/** Leases on names, in real time, of at least 1 ms. They expire, and do not fence writes. */
export interface Leases {
  /** @returns for each key whether `owner` holds it now. A lease that it already held is extended. */
  claim(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Extends leases that `owner` still holds. @returns for each key whether it did */
  renew(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Releases only leases of `owner`. @param news published on the bus afterwards */
  release(keys: readonly string[], owner: string, news?: BusMessage): Promise<void>;
}

export interface RegistryRecord {
  readonly value: string;
  /** The version of the registry at its last change. */
  readonly revision: number;
}

export interface RegistrySnapshot {
  /** Changes if the registry was emptied, or restored from elsewhere. '': there is no registry. */
  readonly epoch: string;
  /** Grows by one with every commit. */
  readonly version: number;
  readonly records: ReadonlyMap<string, RegistryRecord>;
}

/** A replica's copy of a lost registry. */
export interface RegistryImage extends RegistrySnapshot {
  /** Lines stored in the same transaction. */
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
  /** Lines stored in the same transaction. */
  readonly audit?: readonly string[];
  /** The expected epoch, else {@link RegistryConflict} of {@link ANOTHER_REGISTRY}. */
  readonly epoch?: string;
  /** The expected version, else {@link RegistryConflict} of {@link ANOTHER_VERSION}. */
  readonly version?: number;
}

/** The change was made, but fewer replicas than required have confirmed it: it could be lost with the server. */
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
  /** @param absent if there is no registry: `create` an empty one, or `leave` it so and return the epoch '' */
  load(absent?: 'create' | 'leave'): Promise<RegistrySnapshot>;
  /**
   * Creates this registry if there is neither an epoch nor any record. Earlier deletions are forgotten.
   * @returns whether it was created
   */
  create(image: RegistryImage): Promise<boolean>;
  /** Whether the server was replaced or restarted since the last load that found a registry; false if unknown. */
  movedOn(): boolean;
  /** @returns changes after `version`; null if unknown: then `load()` */
  changes(epoch: string, version: number): Promise<RegistryDelta | null>;
  /**
   * Makes all writes and audit lines, or none. @returns the new version. @throws RegistryConflict
   * After {@link StoreUnavailable} the change may have been made, or be made later: read before a retry. After one
   * with `no-room` it was not.
   */
  commit(change: RegistryCommit): Promise<RegistryCommitted>;
  /** Newest first. @param before an {@link AuditLine.id}, exclusive; an invalid one: no lines */
  readAudit(limit: number, before?: string): Promise<AuditLine[]>;
}

export interface RegistryLimits {
  /** Audit lines; the oldest are deleted. */
  readonly auditMax: number;
  /** Deletions remembered for `changes()`. A reader that misses a forgotten one must `load()`. */
  readonly tombstonesMax: number;
}

export const REGISTRY_LIMITS: RegistryLimits = { auditMax: 100_000, tombstonesMax: 10_000 };

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
   * ±(2^53 - 1). A `batchId` is applied at most once within 10 minutes of real time: the same batch may be repeated after
   * {@link StoreUnavailable}.
   * @param ttlMs real time from the last batch that changed a group until it is deleted; at least 1 ms, else a RangeError
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

/** Of UTF-8. */
export const DOCUMENT_MAX_BYTES = 2 * 1024 * 1024;

/**
 * Small documents that expire, as durable as the registry. A longer text than {@link DOCUMENT_MAX_BYTES}, or a
 * lifetime below 1 ms, is a RangeError. Lifetimes are in real time, to collect garbage.
 * After {@link StoreUnavailable} the change may have been made: `get` before a retry. After one with `no-room` it was
 * not: all documents share a limit of bytes, and long ones three quarters of it.
 */
export interface Documents {
  /** @returns null if it was created, else the existing text */
  create(key: string, text: string, ttlMs: number): Promise<string | null>;
  get(key: string): Promise<string | null>;
  /**
   * Replaces the text if it is `before`. @param after null deletes, and `ttlMs` is ignored. @returns whether it was
   * `before`
   */
  replace(key: string, before: string, after: string | null, ttlMs: number): Promise<boolean>;
}

export interface QuotaTake {
  /** Whole permits, 0 or more; 0 only reads. */
  readonly want: number;
  /** 0 or more. After a change, used permits stay used; in a bucket that refills, at most the new capacity. */
  readonly capacity: number;
  /** 0 or more, fractions allowed; 0: never, as in a daily share. */
  readonly refillPerMs: number;
  /**
   * The caller's time. A bucket does not refill backwards. If it is more than {@link CLOCK_LEAD_MAX_MS} ahead of the
   * caller, its time was wrong, and the caller's time replaces it.
   */
  readonly nowMs: number;
  /** Real time from the last call that wanted or charged permits until the bucket is full again; at least 1 ms. */
  readonly ttlMs: number;
  /** Who takes, so that no permit is charged twice or forgotten. */
  readonly taker?: QuotaTaker;
}

/**
 * One who takes from a bucket, and also takes without the store while that is away. Its numbers only grow, so a call may be
 * repeated, lost after it was made, or arrive late.
 */
export interface QuotaTaker {
  /** Never used by another, and for one bucket only. */
  readonly id: string;
  /**
   * All permits it has ever taken, with and without the store. What the bucket does not know of is charged, beyond the
   * capacity if need be. What the bucket knows and it does not was granted in a lost answer, and is granted first.
   */
  readonly taken: number;
  /** Those among them that no answer has confirmed: charged to a bucket that does not know the taker. */
  readonly unconfirmed: number;
  /** Used permits that it knows of, without the unconfirmed: those of a bucket that the store has lost. */
  readonly known: number;
}

export interface QuotaGrant {
  /** At most `want`. */
  readonly granted: number;
  /** Whole permits; 0 also when more was charged than there were. */
  readonly left: number;
  /** Milliseconds from `nowMs` until there is one more than `left`; Infinity for never. */
  readonly nextInMs: number;
}

export const CLOCK_LEAD_MAX_MS = 5000;

/** Token buckets, lossy and fast. A new bucket is full. Other numbers than documented are a RangeError. */
export interface Quotas {
  /** Charges what the taker used without the store, then grants. */
  take(key: string, take: QuotaTake): Promise<QuotaGrant>;
  /** Returns unused whole permits, 0 or more, up to the capacity. @returns the whole permits left, as of the last `take` */
  give(key: string, count: number, capacity: number): Promise<number>;
}

export interface Present {
  readonly id: string;
  readonly info: string;
}

/** The running replicas, in real time; lossy. */
export interface Presence {
  /** @param ttlMs at least 1 */
  beat(id: string, info: string, ttlMs: number): Promise<void>;
  leave(id: string): Promise<void>;
  /** Sorted by id (by UTF-16 code units). */
  list(): Promise<Present[]>;
}

export interface BusMessage {
  readonly channel: string;
  readonly message: string;
}

/** Messages between replicas, including the publisher. They may be lost: changes are also found by polling. */
export interface Bus {
  publish(channel: string, message: string): Promise<void>;
  /**
   * @param onGap called if messages may have been lost, after a reconnection
   * @returns ends the subscription
   */
  subscribe(channel: string, listener: (message: string) => void, onGap?: () => void): () => void;
}

export interface StoreHealth {
  readonly ok: boolean;
  /** It answers, but too late. */
  readonly slow?: boolean;
  /** For people, without secrets; also if it answers but has no memory left. */
  readonly reason?: string;
}

/** Memory of all servers of a shared store, as last reported. */
export interface StoreMemory {
  /** Null: unknown. */
  readonly usedBytes: number | null;
  /** Null: no limit. */
  readonly maxBytes: number | null;
  /** Limit above which nothing is cached; null: none. */
  readonly cacheMaxBytes: number | null;
  /** Changes are refused for lack of memory. */
  readonly full: boolean;
}

export interface Store {
  readonly kind: 'redis' | 'embedded';
  readonly cache: CacheStore;
  readonly history: HistoryStore;
  readonly days: DaysStore;
  readonly pins: PinStore;
  /** Pins as earlier releases wrote them, see `src/reports/history/old-pins.ts`. */
  readonly oldPins: HistoryStore;
  readonly leases: Leases;
  /** On the server of the registry, with its time limit. */
  readonly registryLeases: Leases;
  readonly registry: RegistryStore;
  readonly counters: Counters;
  readonly charges: Charges;
  readonly documents: Documents;
  readonly quotas: Quotas;
  readonly presence: Presence;
  readonly bus: Bus;
  /** Without a round trip. */
  health(): StoreHealth;
  /** Without a round trip. Absent if only the disk limits the store. */
  memory?(): StoreMemory;
  /**
   * Copies everything durable into a new folder of this machine. Absent if a server stores it.
   * @param withHistory false: without history and pins
   * @param begin called before the copy, if the folder can be created
   * @throws BackupTargetRefused, StoreRefused, StoreUnavailable; the copy is then removed
   */
  backup?(folder: string, withHistory: boolean, begin: () => Promise<void>): Promise<void>;
  /** Flushes and closes files, locks and sockets. */
  close(): Promise<void>;
}

/** The store did not answer, or not in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** @param why no-room: the write was not made, for lack of memory or disk */
  constructor(
    message?: string,
    readonly why: 'away' | 'no-room' = 'away',
  ) {
    super(message);
  }
}

/** For `catch`: handles an unavailable store, and throws every other error again. */
export function whenAway<T>(handle: (error: StoreUnavailable) => T): (error: unknown) => T {
  return (error) => {
    if (error instanceof StoreUnavailable) return handle(error);
    throw error;
  };
}

/** Another writer has changed the record since it was read. */
export class RegistryConflict extends Error {
  override readonly name = 'RegistryConflict';
  constructor(readonly id: string) {
    super(`the record ${id} was changed in between`);
  }
}
