/** Asks the store for permits of a bucket; while it is away this replica keeps to its own part of the bucket. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { type QuotaGrant, type Quotas, StoreUnavailable } from '../../store/port.js';
import { describeGrant, leftIn, type QuotaBucket, refilled } from '../../store/quota-bucket.js';
import {
  type Bucket,
  bucketLeft,
  isSameLimit,
  type Known,
  lookAt,
  nextIn,
  type QuotaStatus,
} from './bucket.js';
import type { Replicas } from './replicas.js';

// What this replica holds of each bucket: permits that were drawn and not used, and what the bucket said last.

/** More leases than this are looked through for those of no use any more. */
const MANY = 1024;

/** This replica's part in one bucket. */
interface LocalLease {
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
function createLocalLeases(clock: Clock, letGo: (lease: LocalLease) => void) {
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
function createPermitReturns(quotas: Quotas, logger: Logger) {
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

// Permits of buckets that all replicas share, drawn from the store in batches, so that most requests are decided
// without asking it.
//
// A permit is taken from the shared bucket before it is used, so the replicas together never use more than there are;
// what lies unused with them is at most {@link BATCH_PART} of a bucket, and for {@link HELD_MS}. While the
// store is away every replica keeps to its own part of the bucket.

export type Allowances = ReturnType<typeof createAllowances>;

/** Of a bucket, held by all replicas together. */
const BATCH_PART = 0.05;
/** Permits unused for so long are released: with them, a bucket that has refilled would be more than full. */
const HELD_MS = 15_000;
/** The store is asked for an empty bucket no more often than this, and no less often when it is wanted. */
const [ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS] = [20, 1000];

export function createAllowances({
  quotas,
  replicas,
  clock,
  logger,
}: {
  readonly quotas: Quotas;
  readonly replicas: Pick<Replicas, 'count' | 'share'>;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const returns = createPermitReturns(quotas, logger);
  const leases = createLocalLeases(clock, returns.letGo);
  const ask = createAskForPermits({ quotas, replicas, clock, logger });
  const batchOf = ({ batch, capacity }: Bucket) =>
    batch ?? Math.floor((capacity * BATCH_PART) / replicas.count);

  /** Uses one permit. @returns null when it was there, else milliseconds until there may be one */
  async function take(bucket: Bucket): Promise<number | null> {
    const lease = leases.of(bucket);
    lease.waiting += 1;
    if (lease.held > 0 && lease.usedAtMs - lease.drawnAtMs > HELD_MS) returns.letGo(lease);
    try {
      while (lease.held < 1) {
        const nowMs = clock.now();
        if (mustWait(lease, nowMs)) return Math.max(1, nextIn(lease.said, nowMs));
        lease.drawing ??= draw(lease).finally(() => {
          lease.drawing = null;
        });
        await lease.drawing;
      }
      lease.held -= 1;
      return null;
    } finally {
      lease.waiting -= 1;
    }
  }

  /** Draws a batch from the shared bucket, or as many permits as are waited for. */
  async function draw(lease: LocalLease): Promise<void> {
    const [{ bucket }, nowMs] = [lease, clock.now()];
    const grant = await ask(lease, bucket, Math.max(batchOf(bucket), lease.waiting), nowMs);
    lease.held += grant.granted;
    lease.drawnAtMs = clock.monotonicMs();
    // The limit was changed meanwhile.
    if (!isSameLimit(bucket, lease.bucket)) return returns.letGo(lease);
    hear(lease, grant, nowMs);
    const waitMs = Math.min(Math.max(grant.nextInMs, ASK_AGAIN_MIN_MS), ASK_AGAIN_MAX_MS);
    lease.askAtMs = grant.granted > 0 ? 0 : nowMs + waitMs;
  }

  /** Asks how things stand. */
  async function hearFrom(bucket: Bucket): Promise<LocalLease> {
    const [lease, nowMs] = [leases.of(bucket), clock.now()];
    hear(lease, await ask(lease, bucket, 0, nowMs), nowMs);
    return lease;
  }

  return {
    take,
    /** Uses one permit that is at hand. @returns false where none is: then `take` tells */
    takeAtHand(bucket: Bucket): boolean {
      const lease = leases.of(bucket);
      if (lease.held < 1 || lease.usedAtMs - lease.drawnAtMs > HELD_MS) return false;
      lease.held -= 1;
      return true;
    },
    /** Whether there is no permit, as the store said within the last second or says now. */
    async isEmpty(bucket: Bucket): Promise<boolean> {
      const lease = leases.of(bucket);
      if (lease.held >= 1) return false;
      if (!isFresh(lease, clock.now())) await hearFrom(bucket);
      return lease.held < 1 && bucketLeft(lease, bucket, clock.now()) < 1;
    },
    /** Gives a permit back that was not used after all, to the bucket it was taken from. */
    putBack(bucket: Bucket): void {
      const lease = leases.of(bucket);
      if (lease.own !== null) lease.own = { ...lease.own, used: Math.max(0, lease.own.used - 1) };
      else lease.held += 1;
      returns.giveBack(lease);
    },
    /** Sees to it that at least so many permits count as used. */
    charge: (bucket: Bucket, used: number): Promise<void> => charge(quotas, bucket, used, clock.now()),
    look: (bucket: Bucket): QuotaStatus => lookAt(leases.find(bucket.key), bucket, clock.now()),
    /** Asks the store how things stand; without it, what is known is all there is. */
    refresh: async (bucket: Bucket): Promise<QuotaStatus> =>
      lookAt(await hearFrom(bucket), bucket, clock.now()),
    /** Gives the store back what is held. */
    async close(): Promise<void> {
      leases.all().forEach(returns.giveBack);
      await returns.settled();
      leases.clear();
    },
  };
}

function hear(lease: LocalLease, { left, nextInMs }: QuotaGrant, nowMs: number): void {
  lease.said = { left, nextInMs, atMs: nowMs };
}

/** An empty bucket is not asked again yet; a clock that was set back makes nobody wait for it. */
function mustWait({ said, askAtMs }: LocalLease, nowMs: number): boolean {
  return said !== null && nowMs >= said.atMs && nowMs < askAtMs;
}

function isFresh({ said }: LocalLease, nowMs: number): boolean {
  return said !== null && nowMs >= said.atMs && nowMs - said.atMs < ASK_AGAIN_MAX_MS;
}

/** As if so many permits had been used before: what the bucket does not know of yet is taken. */
async function charge(quotas: Quotas, bucket: Bucket, used: number, nowMs: number): Promise<void> {
  const take = { ...bucket, nowMs };
  const { left } = await quotas.take(bucket.key, { ...take, want: 0 });
  const missing = used - (bucket.capacity - left);
  if (missing > 0) await quotas.take(bucket.key, { ...take, want: missing });
}

/** A store that did not answer is left alone for so long. */
const AWAY_MS = 1000;

function createAskForPermits({
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
