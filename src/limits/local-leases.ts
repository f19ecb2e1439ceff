/** What this replica holds of each bucket: permits that were drawn and not used, and what the bucket said last. */
import type { Clock } from '../clock.js';
import type { QuotaBucket } from '../store/quota-bucket.js';
import { type Bucket, isSameLimit, type Known } from './bucket.js';

/** More leases than this are looked through for those of no use any more. */
const MANY = 1024;

/** This replica's part in one bucket. */
export interface LocalLease {
  /** As it was last asked for. */
  bucket: Bucket;
  /** When, by time that never jumps. */
  usedAtMs: number;
  /** Permits drawn and not used. */
  held: number;
  /** When they were drawn, by time that never jumps. */
  drawnAtMs: number;
  /** What the bucket said last, and when. */
  said: Known['said'];
  /** When an empty bucket may be asked again; 0: now. */
  askAtMs: number;
  /** This replica's own part, while the store is away. */
  own: QuotaBucket | null;
  waiting: number;
  drawing: Promise<void> | null;
}

const EMPTY = {
  held: 0,
  drawnAtMs: 0,
  said: null,
  askAtMs: 0,
  own: null,
  waiting: 0,
  drawing: null,
} as const;

export interface LocalLeases {
  /** Made when there is none. */
  of(bucket: Bucket): LocalLease;
  find(key: string): LocalLease | undefined;
  all(): readonly LocalLease[];
  clear(): void;
}

/** @param letGo called for a lease drawn under another limit, which is in force no more */
export function createLocalLeases(clock: Clock, letGo: (lease: LocalLease) => void): LocalLeases {
  const leases = new Map<string, LocalLease>();

  /** The bucket of a day that is over is never asked for again. */
  function forgetUnused(nowMs: number): void {
    for (const [key, lease] of leases) if (nowMs - lease.usedAtMs > lease.bucket.ttlMs) leases.delete(key);
  }

  return {
    of(bucket) {
      const usedAtMs = clock.monotonicMs();
      const lease = leases.get(bucket.key) ?? { ...EMPTY, bucket, usedAtMs };
      if (!isSameLimit(lease.bucket, bucket)) letGo(lease);
      lease.bucket = bucket;
      lease.usedAtMs = usedAtMs;
      if (!leases.has(bucket.key)) {
        leases.set(bucket.key, lease);
        if (leases.size > MANY) forgetUnused(usedAtMs);
      }
      return lease;
    },
    find: (key) => leases.get(key),
    all: () => [...leases.values()],
    clear: () => leases.clear(),
  };
}
