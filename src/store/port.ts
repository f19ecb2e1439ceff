/**
 * The interface of the store, which all replicas share. The conformance suite (`test/store/conformance.ts`) runs against both
 * `redis` and `embedded`. The store handles text and bytes, never queries, teams or tokens.
 */
import type { Changes } from './changes-port.js';
import type { Charges } from './charges-port.js';
import { type DaysStore, ORDER_LEAD_MAX_US } from './days-port.js';
import type { OldPinStore, PinStore } from './pins-port.js';

/** An entry: one period of a report. The store does not parse its bytes, which may be shared and must not be changed. */
export interface CacheEntry {
  /** When the fetch of the content began, epoch milliseconds by the clock of the store of days, rounded down; from 0 to 2^48 - 1, else a RangeError. */
  readonly version: number;
  readonly bytes: Buffer;
}

export interface CacheWrite extends CacheEntry {
  readonly id: string;
  /** The clock of the versions at the write, for {@link replaces}; default: `version`. */
  readonly atMs?: number;
  /** In real time, to collect garbage. A finite number, else a RangeError; below 1 ms the entry is deleted. */
  readonly ttlMs: number;
}

/**
 * Lossy, fast and bounded in time. Every call may reject with {@link StoreUnavailable}, which callers treat as a miss. The ids of
 * one call have the same text in braces: that of their series, which is in one slot of a cluster.
 */
export interface CacheStore {
  /**
   * @returns the entries in the order of `ids`; null for absent ones. The reader checks for damage.
   * @param after a call of this store for the same series, begun just before: the read sees its effects, however it ends
   */
  read(ids: readonly string[], after?: Promise<unknown>): Promise<(CacheEntry | null)[]>;
  /** Writes entries with different ids. A present one stays, with its lifetime, unless the new one {@link replaces} it. */
  write(entries: readonly CacheWrite[]): Promise<void>;
}

/** As {@link countedOrder} of the days, in milliseconds. */
export const VERSION_LEAD_MAX_MS = ORDER_LEAD_MAX_US / 1000;

/**
 * Whether content of `version` replaces content of the version `present`, which a wrong clock may have put too far ahead.
 * @param atMs the clock of the versions now: a fetch may have begun long before
 */
export function replaces(version: number, present: number, atMs: number): boolean {
  return present <= version || present > Math.max(version, atMs) + VERSION_LEAD_MAX_MS;
}

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

/** In milliseconds: of all groups, or of each. */
export type Lifetime = number | ((group: string) => number);

/** Durable counters, in groups of fields; as durable as the registry. */
export interface Counters {
  /**
   * Applies all or nothing: first adds (an absent field is 0), then raises fields to at least `to`. A field stops at
   * ±(2^53 - 1). A `batchId` is applied at most once within 10 minutes of real time: the same batch may be repeated after
   * {@link StoreUnavailable}.
   * @param ttlMs real time from the last batch that changed a group until it is deleted, of all groups or of each; at least
   *   1 ms, else a RangeError
   */
  add(
    batchId: string,
    adds: readonly CounterAdd[],
    raises: readonly CounterRaise[],
    ttlMs: Lifetime,
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

/** Numbers of what was removed. */
export interface RemovedLayout {
  /** Of history: one for each series. */
  readonly months: number;
  readonly cacheEntries: number;
}

export interface Store {
  readonly kind: 'redis' | 'embedded';
  readonly cache: CacheStore;
  readonly days: DaysStore;
  /** On the server of the days. */
  readonly changes: Changes;
  readonly pins: PinStore;
  /** Pins as earlier releases wrote them, see `src/reports/history/old-pins.ts`. */
  readonly oldPins: OldPinStore;
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
  /**
   * Removes history and cache entries in the form of earlier releases; repeated, the rest of them. A later release removes this.
   * @returns what was removed
   */
  removeOldLayout(isStopped: () => boolean): Promise<RemovedLayout>;
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
