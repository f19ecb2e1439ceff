/** Asks the store for permits of a bucket; while it is away this replica keeps to its own part of the bucket. */
import type { Logger } from 'pino';
import type { Clock } from '../lib/clock.js';
import { type QuotaGrant, type Quotas, StoreUnavailable } from '../store/port.js';
import { describeGrant, leftIn, refilled } from '../store/quota-bucket.js';
import { type Bucket, bucketLeft } from './bucket.js';
import type { LocalLease } from './local-leases.js';
import type { Replicas } from './replicas.js';

/** A store that did not answer is left alone for so long. */
const AWAY_MS = 1000;

export function createAskForPermits({
  quotas,
  replicas,
  clock,
  logger,
}: {
  readonly quotas: Quotas;
  readonly replicas: Pick<Replicas, 'share'>;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  let awayUntilMs = Number.NEGATIVE_INFINITY;
  /** @param want permits; 0 asks only how things stand. @param nowMs by the wall clock */
  return async function ask(
    lease: LocalLease,
    bucket: Bucket,
    want: number,
    nowMs: number,
  ): Promise<QuotaGrant> {
    if (clock.monotonicMs() >= awayUntilMs) {
      try {
        const grant = await quotas.take(bucket.key, { ...bucket, want, nowMs });
        lease.own = null;
        return grant;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        awayUntilMs = clock.monotonicMs() + AWAY_MS;
        logger.debug(
          { err: error },
          'the store could not be asked for permits; this replica keeps to its part',
        );
      }
    }
    return takeOwn(lease, bucket, want, nowMs, replicas.share(bucket.capacity));
  };
}

/**
 * The part begins with as much as the whole had when it was last heard of, so that an outage is no gift.
 * @param capacity this replica's part of the bucket, permits
 */
function takeOwn(
  lease: LocalLease,
  bucket: Bucket,
  want: number,
  nowMs: number,
  capacity: number,
): QuotaGrant {
  const partOf = (whole: number) => (whole * capacity) / bucket.capacity;
  const take = { want, capacity, refillPerMs: partOf(bucket.refillPerMs), nowMs, ttlMs: bucket.ttlMs };
  lease.own ??= { used: capacity - Math.floor(partOf(bucketLeft(lease, bucket, nowMs))), atMs: nowMs };
  const own = refilled(lease.own, take);
  const granted = Math.min(want, leftIn(own, capacity));
  lease.own = { ...own, used: own.used + granted };
  return describeGrant(lease.own, granted, take);
}
