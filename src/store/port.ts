/**
 * The shared state of all replicas, as a port. Two adapters: `redis` and `embedded`; one conformance suite
 * (`test/store/conformance.ts`) holds both to what is written here.
 *
 * The store sees strings and bytes, never queries, teams or tokens.
 */

/** One cache entry to be written. The TTL only collects garbage; freshness is decided by the reader. */
export interface CacheWrite {
  readonly key: string;
  /** Copied or sent before the call resolves. */
  readonly value: Buffer;
  /** A finite number, else a RangeError; an entry of less than 1 ms is gone at once. */
  readonly ttlMs: number;
}

/**
 * Lossy, fast, bounded in time. Every call may reject with {@link StoreUnavailable}, and does so within the
 * adapter's timeout; callers treat that as a miss.
 * Keys of one call share one `{hash tag}`, so that a cluster finds them in one slot.
 */
export interface CacheStore {
  /**
   * @returns the values in the order of `keys`; null for what is absent, expired, or not a plain value. The buffers
   * may be shared: they must not be written to.
   */
  getMany(keys: readonly string[]): Promise<(Buffer | null)[]>;
  /** Writes all entries in one round trip. Entries always expire. */
  setMany(entries: readonly CacheWrite[]): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
}

/** Short leases on names, in real time, of at least 1 ms. A lease ends by itself; nothing is fenced by it. */
export interface Leases {
  /** @returns for each key whether `owner` now holds it (a lease it already held is extended and counts). */
  claim(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Extends what `owner` still holds. @returns for each key whether it was still held. */
  renew(keys: readonly string[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Compare-and-delete: only what `owner` holds is released. */
  release(keys: readonly string[], owner: string): Promise<void>;
}

/** A record as read: its text and the registry version at which it last changed. */
export interface RegistryRecord {
  readonly value: string;
  readonly revision: number;
}

export interface RegistrySnapshot {
  /** Changes when the registry is a different one (emptied, or restored elsewhere). */
  readonly epoch: string;
  /** Grows by one with every commit. */
  readonly version: number;
  readonly records: ReadonlyMap<string, RegistryRecord>;
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
}

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
  load(): Promise<RegistrySnapshot>;
  /** @returns what changed after `version`, or null when that can no longer be told: then `load()`. */
  changes(epoch: string, version: number): Promise<RegistryDelta | null>;
  /**
   * All writes and audit lines, or none. @returns the new version. @throws RegistryConflict
   *
   * After {@link StoreUnavailable} from Redis the change may have been made all the same, unanswered: read before
   * trying again. The embedded store has then not made it.
   */
  commit(change: RegistryCommit): Promise<{ readonly version: number }>;
  /** Newest first; `before` is an {@link AuditLine.id}, exclusive. Nothing comes before what is no id. */
  readAudit(limit: number, before?: string): Promise<AuditLine[]>;
}

/** Messages between replicas: fast, and allowed to be lost. Everything said here is also found by polling. */
export interface Bus {
  publish(channel: string, message: string): Promise<void>;
  /** @returns a function that ends the subscription. The publisher hears its own messages too. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
}

export interface StoreHealth {
  readonly ok: boolean;
  /** What is wrong, for people; holds no secret. */
  readonly reason?: string;
}

export interface Store {
  readonly kind: 'redis' | 'embedded';
  readonly cache: CacheStore;
  readonly leases: Leases;
  readonly registry: RegistryStore;
  readonly bus: Bus;
  /** The latest known state, without a round trip. */
  health(): StoreHealth;
  /** Flushes and lets go of files, locks and sockets. */
  close(): Promise<void>;
}

/** The store did not answer, or not in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
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
