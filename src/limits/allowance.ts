/**
 * Permits of buckets that all replicas share, drawn from the store in portions, so that most requests are decided
 * without asking it.
 *
 * A permit is taken from the shared bucket before it is used, so the replicas together never use more than there are;
 * what lies unused in their hands is at most {@link PORTION} of a bucket. While the store is away every replica keeps
 * to its own part of the bucket.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { type QuotaGrant, type Quotas, StoreUnavailable } from '../store/port.js';
import { describeGrant, leftIn, type QuotaBucket, refilled } from '../store/quota-bucket.js';
import type { Replicas } from './replicas.js';

/** A bucket as all replicas agree on it. */
export interface Bucket {
  readonly key: string;
  /** Permits in a full bucket. */
  readonly capacity: number;
  /** Permits that come back; 0: none ever. */
  readonly refillPerMs: number;
  /** Real time after which the store may forget it: when it is full again, or of no use. */
  readonly ttlMs: number;
}

/** What is known of a bucket without asking. Others' permits in hand count as used. */
export interface Standing {
  readonly left: number;
  /** Milliseconds until there is one more; Infinity when there never will be. */
  readonly nextInMs: number;
}

export interface Allowances {
  /** Uses one permit. @returns null when it was there, else milliseconds until there may be one */
  take(bucket: Bucket): Promise<number | null>;
  /** Gives a permit back that was not used after all. */
  putBack(bucket: Bucket): void;
  /** Sees to it that at least so many permits count as used. */
  charge(bucket: Bucket, used: number): Promise<void>;
  look(bucket: Bucket): Standing;
  /** Asks the store how things stand; without it, what is known is all there is. */
  refresh(bucket: Bucket): Promise<Standing>;
  /** Gives the store back what is in hand. */
  close(): Promise<void>;
}

export interface AllowancesOptions {
  readonly quotas: Quotas;
  readonly replicas: Pick<Replicas, 'count' | 'share'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Of a bucket, in the hands of all replicas together. */
const PORTION = 0.05;
/** The store is asked for an empty bucket no more often than this, and no less often when it is wanted. */
const [ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS] = [20, 1000];
/** A store that did not answer is left alone for so long. */
const AWAY_MS = 1000;

/** This replica's hand in one bucket. */
interface Hand {
  /** As it was last asked for. */
  bucket: Bucket;
  /** When, by time that never jumps. */
  usedAtMs: number;
  /** Permits drawn and not used. */
  held: number;
  /** What the bucket said last, and when. */
  said: { readonly left: number; readonly nextInMs: number; readonly atMs: number } | null;
  /** When an empty bucket may be asked again; 0: now. */
  askAtMs: number;
  /** This replica's own part, while the store is away. */
  own: QuotaBucket | null;
  waiting: number;
  drawing: Promise<void> | null;
}

const EMPTY = { held: 0, said: null, askAtMs: 0, own: null, waiting: 0, drawing: null } as const;

/** More hands than this are looked through for those of no use any more. */
const MANY = 1024;

export function createAllowances({ quotas, replicas, clock, logger }: AllowancesOptions): Allowances {
  const hands = new Map<string, Hand>();
  let awayUntilMs = Number.NEGATIVE_INFINITY;

  /** A bucket whose numbers were changed keeps its hand. */
  function handOf(bucket: Bucket): Hand {
    const usedAtMs = clock.monotonicMs();
    const hand = hands.get(bucket.key) ?? { ...EMPTY, bucket, usedAtMs };
    hand.bucket = bucket;
    hand.usedAtMs = usedAtMs;
    if (!hands.has(bucket.key)) {
      hands.set(bucket.key, hand);
      if (hands.size > MANY) forgetUnused(usedAtMs);
    }
    return hand;
  }

  /** The bucket of a day that is over is never asked for again. */
  function forgetUnused(nowMs: number): void {
    for (const [key, hand] of hands) if (nowMs - hand.usedAtMs > hand.bucket.ttlMs) hands.delete(key);
  }

  async function take(bucket: Bucket): Promise<number | null> {
    const hand = handOf(bucket);
    hand.waiting += 1;
    try {
      while (hand.held < 1) {
        const nowMs = clock.now();
        const waits = hand.said !== null && nowMs >= hand.said.atMs && nowMs < hand.askAtMs;
        if (waits) return Math.max(1, nextIn(hand.said, nowMs));
        hand.drawing ??= draw(hand, bucket).finally(() => {
          hand.drawing = null;
        });
        await hand.drawing;
      }
      hand.held -= 1;
      return null;
    } finally {
      hand.waiting -= 1;
    }
  }

  async function draw(hand: Hand, bucket: Bucket): Promise<void> {
    const nowMs = clock.now();
    const portion = Math.floor((bucket.capacity * PORTION) / replicas.count);
    const grant = await ask(hand, bucket, Math.max(portion, hand.waiting), nowMs);
    hand.held += grant.granted;
    hear(hand, grant, nowMs);
    const waitMs = Math.min(Math.max(grant.nextInMs, ASK_AGAIN_MIN_MS), ASK_AGAIN_MAX_MS);
    hand.askAtMs = grant.granted > 0 ? 0 : nowMs + waitMs;
  }

  function hear(hand: Hand, { left, nextInMs }: QuotaGrant, nowMs: number): void {
    hand.said = { left, nextInMs, atMs: nowMs };
  }

  async function ask(hand: Hand, bucket: Bucket, want: number, nowMs: number): Promise<QuotaGrant> {
    if (clock.monotonicMs() >= awayUntilMs) {
      try {
        const grant = await quotas.take(bucket.key, { ...bucket, want, nowMs });
        hand.own = null;
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
    return askOwn(hand, bucket, want, nowMs);
  }

  /** The part begins with as much as the whole had when it was last heard of, so that an outage is no gift. */
  function askOwn(hand: Hand, bucket: Bucket, want: number, nowMs: number): QuotaGrant {
    const capacity = replicas.share(bucket.capacity);
    const partOf = (whole: number) => (whole * capacity) / bucket.capacity;
    const take = { want, capacity, refillPerMs: partOf(bucket.refillPerMs), nowMs, ttlMs: bucket.ttlMs };
    hand.own ??= { used: capacity - Math.floor(partOf(bucketLeft(hand, bucket, nowMs))), atMs: nowMs };
    const own = refilled(hand.own, take);
    const granted = Math.min(want, leftIn(own, capacity));
    hand.own = { ...own, used: own.used + granted };
    return describeGrant(hand.own, granted, take);
  }

  return {
    take,
    putBack(bucket) {
      handOf(bucket).held += 1;
    },
    async charge(bucket, used) {
      const take = { ...bucket, nowMs: clock.now() };
      const { left } = await quotas.take(bucket.key, { ...take, want: 0 });
      const missing = used - (bucket.capacity - left);
      if (missing > 0) await quotas.take(bucket.key, { ...take, want: missing });
    },
    look: (bucket) => lookAt(hands.get(bucket.key), bucket, clock.now()),
    async refresh(bucket) {
      const [hand, nowMs] = [handOf(bucket), clock.now()];
      hear(hand, await ask(hand, bucket, 0, nowMs), nowMs);
      return lookAt(hand, bucket, nowMs);
    },
    async close() {
      const given = [...hands.values()]
        .filter(({ held, own }) => held > 0 && own === null)
        .map(({ bucket, held }) => quotas.give(bucket.key, held, bucket.capacity));
      for (const result of await Promise.allSettled(given))
        if (result.status === 'rejected')
          logger.debug({ err: result.reason }, 'permits could not be given back');
      hands.clear();
    },
  };
}

function bucketLeft(hand: Hand, { capacity, refillPerMs }: Bucket, nowMs: number): number {
  if (hand.said === null) return capacity;
  const { left, atMs } = hand.said;
  return Math.min(capacity, left + Math.max(0, nowMs - atMs) * refillPerMs);
}

/** A clock that was set back since then makes nobody wait longer. */
function nextIn(said: Hand['said'], nowMs: number): number {
  return said === null ? 0 : said.nextInMs - Math.max(0, nowMs - said.atMs);
}

function lookAt(hand: Hand | undefined, bucket: Bucket, nowMs: number): Standing {
  if (hand === undefined || hand.said === null)
    return { left: bucket.capacity, nextInMs: Number.POSITIVE_INFINITY };
  const left = Math.min(bucket.capacity, Math.floor(bucketLeft(hand, bucket, nowMs)) + hand.held);
  return { left, nextInMs: Math.max(0, nextIn(hand.said, nowMs)) };
}
