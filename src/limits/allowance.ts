/**
 * Permits of buckets that all replicas share, drawn from the store in portions, so that most requests are decided
 * without asking it.
 *
 * A permit is taken from the shared bucket before it is used, so the replicas together never use more than there are;
 * what lies unused in their hands is at most {@link PORTION} of a bucket, and for {@link HELD_MS}. While the
 * store is away every replica keeps to its own part of the bucket.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { type QuotaGrant, type Quotas, StoreUnavailable } from '../store/port.js';
import { describeGrant, leftIn, type QuotaBucket, refilled } from '../store/quota-bucket.js';
import { type Bucket, bucketLeft, type Known, lookAt, nextIn, type Standing } from './bucket.js';
import type { Replicas } from './replicas.js';

export interface Allowances {
  /** Uses one permit. @returns null when it was there, else milliseconds until there may be one */
  take(bucket: Bucket): Promise<number | null>;
  /** Gives a permit back that was not used after all, to the bucket it was taken from. */
  putBack(bucket: Bucket): void;
  /** Whether there is no permit, as the store said within the last second or says now. */
  isEmpty(bucket: Bucket): Promise<boolean>;
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
/** Permits that lie unused for so long are let go of: a bucket that is full again would be more than full with them. */
const HELD_MS = 15_000;
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

/** More hands than this are looked through for those of no use any more. */
const MANY = 1024;
export function createAllowances({ quotas, replicas, clock, logger }: AllowancesOptions): Allowances {
  const hands = new Map<string, Hand>();
  /** Permits on their way back. */
  const gifts = new Set<Promise<void>>();
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
    if (hand.held > 0 && hand.usedAtMs - hand.drawnAtMs > HELD_MS) letGo(hand);
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
    const portion = bucket.portion ?? Math.floor((bucket.capacity * PORTION) / replicas.count);
    const grant = await ask(hand, bucket, Math.max(portion, hand.waiting), nowMs);
    hand.held += grant.granted;
    hand.drawnAtMs = clock.monotonicMs();
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

  /** Of a bucket that refills they have come back by themselves since, and must not come back twice. */
  function letGo(hand: Hand): void {
    if (hand.bucket.refillPerMs === 0) giveBack(hand);
    else hand.held = 0;
  }

  /** What is in hand goes back to its bucket; a store that is away gets it later. */
  function giveBack(hand: Hand): void {
    const { bucket, held } = hand;
    if (held < 1 || hand.own !== null) return;
    hand.held = 0;
    const giving = quotas
      .give(bucket.key, held, bucket.capacity)
      .then((left) => {
        if (hand.said !== null && hand.said.left < left) hand.said = { ...hand.said, left };
      })
      .catch((error: unknown) => {
        hand.held += held;
        logger.debug({ err: error }, 'permits could not be given back');
      })
      .finally(() => gifts.delete(giving));
    gifts.add(giving);
  }

  async function isEmpty(bucket: Bucket): Promise<boolean> {
    const [hand, nowMs] = [handOf(bucket), clock.now()];
    if (hand.held >= 1) return false;
    const { said } = hand;
    if (said === null || nowMs < said.atMs || nowMs - said.atMs >= ASK_AGAIN_MAX_MS)
      hear(hand, await ask(hand, bucket, 0, nowMs), nowMs);
    return hand.held < 1 && bucketLeft(hand, bucket, clock.now()) < 1;
  }

  return {
    take,
    isEmpty,
    putBack(bucket) {
      const hand = handOf(bucket);
      if (hand.own !== null) hand.own = { ...hand.own, used: Math.max(0, hand.own.used - 1) };
      else hand.held += 1;
      giveBack(hand);
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
      hands.forEach(giveBack);
      await Promise.all(gifts);
      hands.clear();
    },
  };
}
