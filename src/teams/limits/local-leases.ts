/** What this replica holds of each bucket: permits that were drawn and not used, and what the bucket said last. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import type { Quotas } from '../../store/port.js';
import type { QuotaBucket } from '../../store/quota-bucket.js';
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

/** @param letGo called for a lease drawn under another limit, which is in force no more */
export function createLocalLeases(clock: Clock, letGo: (lease: LocalLease) => void) {
  const leases = new Map<string, LocalLease>();

  /** The bucket of a day that is over is never asked for again. */
  function forgetUnused(nowMs: number): void {
    for (const [key, lease] of leases) if (nowMs - lease.usedAtMs > lease.bucket.ttlMs) leases.delete(key);
  }

  return {
    /** Made when there is none. */
    of(bucket: Bucket): LocalLease {
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
    find: (key: string): LocalLease | undefined => leases.get(key),
    all: (): readonly LocalLease[] => [...leases.values()],
    clear: (): void => leases.clear(),
  };
}

/** Permits that were drawn and not used, on their way back to their buckets. */
export function createPermitReturns(quotas: Quotas, logger: Logger) {
  const underWay = new Set<Promise<void>>();

  /** What is held goes back to its bucket; a store that is away gets it with the next return. */
  function giveBack(lease: LocalLease): void {
    const { bucket, held } = lease;
    if (held < 1 || lease.own !== null) return;
    lease.held = 0;
    const giving = quotas
      .give(bucket.key, held, bucket.capacity)
      .then((left) => {
        if (lease.said !== null && lease.said.left < left) lease.said = { ...lease.said, left };
      })
      .catch((error: unknown) => {
        lease.held += held;
        logger.debug({ err: error }, 'permits could not be given back');
      })
      .finally(() => underWay.delete(giving));
    underWay.add(giving);
  }

  return {
    giveBack,
    /**
     * Releases what is held. A bucket that refills has its permits back already, and must not get them twice.
     */
    letGo(lease: LocalLease): void {
      if (lease.bucket.refillPerMs === 0) giveBack(lease);
      else lease.held = 0;
    },
    /** Waits until those under way have arrived, or failed. */
    async settled(): Promise<void> {
      await Promise.all(underWay);
    },
  };
}
