/**
 * Permits of buckets that all replicas share, drawn from the store in batches, so that most requests need no store call.
 *
 * A permit is drawn before it is used, so the replicas together never exceed the bucket. They hold at most
 * {@link BATCH_PART} of a bucket unused, for at most {@link HELD_MS}. Without the store, each replica uses its own part.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { type QuotaGrant, type Quotas, StoreUnavailable } from '../../store/port.js';
import { describeGrant, leftIn, type QuotaBucket, refilled } from '../../store/quota-bucket.js';
import type { Replicas } from './replicas.js';

/** Part of a bucket in the batches of all replicas together. */
const BATCH_PART = 0.05;
/** Unused permits are released after this time: a refilled bucket would be more than full with them. */
const HELD_MS = 15_000;
/** Bounds of the interval of store calls about an empty bucket. */
const [ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS] = [20, 1000];
/** Pause of store calls after a failure. */
const AWAY_MS = 1000;
/** Above this number, expired leases are dropped. */
const MANY_LEASES = 1024;

/** A bucket that all replicas share. */
export interface Bucket {
  readonly key: string;
  readonly capacity: number;
  /** 0: no refill. */
  readonly refillPerMs: number;
  /** Real time after which the store may drop it, as it is full again or expired. */
  readonly ttlMs: number;
  /** Permits per draw; default: a small part of the bucket. */
  readonly batch?: number;
}

/** Known state of a bucket. Permits held by other replicas count as used. */
interface QuotaStatus {
  readonly left: number;
  /** Time until the next permit; Infinity: never. */
  readonly nextInMs: number;
}

/** This replica's state of a bucket. */
interface Lease {
  /** The latest definition. */
  bucket: Bucket;
  /** Last use, by the monotonic clock. */
  usedAtMs: number;
  /** Permits drawn and not used. */
  held: number;
  /** When they were drawn, by the monotonic clock. */
  drawnAtMs: number;
  /** The store's last answer with its wall time; null: none yet. */
  said: { readonly left: number; readonly nextInMs: number; readonly atMs: number } | null;
  /** Earliest next store call about an empty bucket; 0: now. */
  askAtMs: number;
  /** This replica's part, without the store. */
  own: QuotaBucket | null;
  /** Permits used of `own` without refill, to be charged to the shared bucket once the store is back. */
  uncharged: number;
  waiting: number;
  drawing: Promise<void> | null;
}

interface AllowanceParts {
  readonly quotas: Quotas;
  readonly replicas: Pick<Replicas, 'count' | 'share'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Allowances {
  readonly #parts: AllowanceParts;
  readonly #leases = new Map<string, Lease>();
  readonly #returns = new Set<Promise<void>>();
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: AllowanceParts) {
    this.#parts = parts;
  }

  /** Uses a permit. @returns null: done; else milliseconds until there may be one */
  async take(bucket: Bucket): Promise<number | null> {
    const lease = this.#leaseOf(bucket);
    lease.waiting += 1;
    if (lease.held > 0 && isOld(lease)) this.#release(lease);
    try {
      while (lease.held < 1) {
        const nowMs = this.#parts.clock.now();
        if (mustWait(lease, nowMs)) return Math.max(1, nextIn(lease, nowMs));
        lease.drawing ??= this.#draw(lease).finally(() => {
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

  /** Uses a held permit. @returns false: there is none, call {@link take} */
  takeAtHand(bucket: Bucket): boolean {
    const lease = this.#leaseOf(bucket);
    if (lease.held < 1 || isOld(lease)) return false;
    lease.held -= 1;
    return true;
  }

  /** Whether the bucket is known to be empty, by an answer of the store at most a second old. A draw knows better. */
  async isEmpty(bucket: Bucket): Promise<boolean> {
    const lease = this.#leaseOf(bucket);
    const { clock } = this.#parts;
    const hasPermit = () => lease.held >= 1 || bucketLeft(lease, bucket, clock.now()) >= 1;
    if (!hasPermit() && !isFresh(lease, clock.now())) await this.#look(lease);
    return !hasPermit();
  }

  /** Returns an unused permit to its bucket. */
  putBack(bucket: Bucket): void {
    const lease = this.#leaseOf(bucket);
    if (lease.own !== null) {
      lease.own = { ...lease.own, used: Math.max(0, lease.own.used - 1) };
      lease.uncharged = Math.max(0, lease.uncharged - 1);
    } else lease.held += 1;
    this.#giveBack(lease);
  }

  /** Raises the used permits to at least `used`. @throws StoreUnavailable */
  async charge(bucket: Bucket, used: number): Promise<void> {
    const { quotas, clock } = this.#parts;
    const take = { ...bucket, nowMs: clock.now() };
    const { left } = await quotas.take(bucket.key, { ...take, want: 0 });
    const missing = used - (bucket.capacity - left);
    if (missing > 0) await quotas.take(bucket.key, { ...take, want: missing });
  }

  /** Without the store. */
  look(bucket: Bucket): QuotaStatus {
    return statusOf(this.#leases.get(bucket.key), bucket, this.#parts.clock.now());
  }

  /** From the store, or from memory if it is unavailable. */
  async refresh(bucket: Bucket): Promise<QuotaStatus> {
    const lease = this.#leaseOf(bucket);
    await this.#look(lease);
    return statusOf(lease, bucket, this.#parts.clock.now());
  }

  /** Returns all unused permits. */
  async close(): Promise<void> {
    for (const lease of this.#leases.values()) this.#giveBack(lease);
    await Promise.all(this.#returns);
    this.#leases.clear();
  }

  #leaseOf(bucket: Bucket): Lease {
    const usedAtMs = this.#parts.clock.monotonicMs();
    const known = this.#leases.get(bucket.key);
    if (known === undefined) {
      const unused = {
        held: 0,
        drawnAtMs: 0,
        said: null,
        askAtMs: 0,
        own: null,
        uncharged: 0,
        waiting: 0,
        drawing: null,
      };
      const lease: Lease = { bucket, usedAtMs, ...unused };
      this.#leases.set(bucket.key, lease);
      if (this.#leases.size > MANY_LEASES) this.#forgetUnused(usedAtMs);
      return lease;
    }
    if (!isSameLimit(known.bucket, bucket)) this.#release(known);
    known.bucket = bucket;
    known.usedAtMs = usedAtMs;
    return known;
  }

  /** Drops leases of past days. */
  #forgetUnused(nowMs: number): void {
    for (const [key, { usedAtMs, bucket }] of this.#leases)
      if (nowMs - usedAtMs > bucket.ttlMs) this.#leases.delete(key);
  }

  /** Draws a batch, or as many permits as callers wait for. */
  async #draw(lease: Lease): Promise<void> {
    const { replicas, clock } = this.#parts;
    const [{ bucket }, nowMs] = [lease, clock.now()];
    const batch = bucket.batch ?? Math.floor((bucket.capacity * BATCH_PART) / replicas.count);
    const grant = await this.#ask(lease, Math.max(batch, lease.waiting), nowMs);
    lease.held += grant.granted;
    lease.drawnAtMs = clock.monotonicMs();
    // The limit has changed meanwhile.
    if (!isSameLimit(bucket, lease.bucket)) return this.#release(lease);
    hear(lease, grant, nowMs);
    const waitMs = Math.min(Math.max(grant.nextInMs, ASK_AGAIN_MIN_MS), ASK_AGAIN_MAX_MS);
    lease.askAtMs = grant.granted > 0 ? 0 : nowMs + waitMs;
  }

  async #look(lease: Lease): Promise<void> {
    const nowMs = this.#parts.clock.now();
    hear(lease, await this.#ask(lease, 0, nowMs), nowMs);
  }

  /** @param want permits; 0 only reads. @param nowMs wall time */
  async #ask(lease: Lease, want: number, nowMs: number): Promise<QuotaGrant> {
    const { quotas, replicas, clock, logger } = this.#parts;
    const { bucket } = lease;
    if (clock.monotonicMs() >= this.#awayUntilMs) {
      try {
        if (lease.uncharged > 0) await this.#chargeOwn(lease, nowMs);
        const grant = await quotas.take(bucket.key, { ...bucket, want, nowMs });
        lease.own = null;
        return grant;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.#awayUntilMs = clock.monotonicMs() + AWAY_MS;
        logger.debug({ err: error }, 'failed to draw permits from the store; using this replica’s part');
      }
    }
    return takeOwn(lease, bucket, { want, nowMs, capacity: replicas.share(bucket.capacity) });
  }

  /** Charges permits used without the store. @throws StoreUnavailable */
  async #chargeOwn(lease: Lease, nowMs: number): Promise<void> {
    const { bucket } = lease;
    const charge = (want: number) => this.#parts.quotas.take(bucket.key, { ...bucket, want, nowMs });
    // A call that times out may still be counted, so test the store first.
    await charge(0);
    const { uncharged } = lease;
    if (uncharged === 0) return;
    lease.uncharged = 0;
    try {
      await charge(uncharged);
    } catch (error) {
      lease.uncharged += uncharged;
      throw error;
    }
  }

  /** A bucket with refill has refilled the permits already. */
  #release(lease: Lease): void {
    if (lease.bucket.refillPerMs === 0) this.#giveBack(lease);
    else lease.held = 0;
  }

  /** Returns unused permits; an unavailable store gets them with the next return. */
  #giveBack(lease: Lease): void {
    const { quotas, logger } = this.#parts;
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
        logger.debug({ err: error }, 'failed to return permits to the store');
      })
      .finally(() => this.#returns.delete(giving));
    this.#returns.add(giving);
  }
}

function isSameLimit(one: Bucket, other: Bucket): boolean {
  return one.capacity === other.capacity && one.refillPerMs === other.refillPerMs;
}

function isOld({ usedAtMs, drawnAtMs }: Lease): boolean {
  return usedAtMs - drawnAtMs > HELD_MS;
}

function hear(lease: Lease, { left, nextInMs }: QuotaGrant, nowMs: number): void {
  lease.said = { left, nextInMs, atMs: nowMs };
}

/** Whether an empty bucket may not be asked yet. A clock set back causes no extra wait. */
function mustWait({ said, askAtMs }: Lease, nowMs: number): boolean {
  return said !== null && nowMs >= said.atMs && nowMs < askAtMs;
}

function isFresh({ said }: Lease, nowMs: number): boolean {
  return said !== null && nowMs >= said.atMs && nowMs - said.atMs < ASK_AGAIN_MAX_MS;
}

/** Permits in a bucket now, with fractions. */
function bucketLeft({ said }: Lease, { capacity, refillPerMs }: Bucket, nowMs: number): number {
  if (said === null) return capacity;
  return Math.min(capacity, said.left + Math.max(0, nowMs - said.atMs) * refillPerMs);
}

/** A clock set back causes no extra wait. */
function nextIn({ said }: Lease, nowMs: number): number {
  return said === null ? 0 : said.nextInMs - Math.max(0, nowMs - said.atMs);
}

function statusOf(lease: Lease | undefined, bucket: Bucket, nowMs: number): QuotaStatus {
  if (lease === undefined || lease.said === null)
    return { left: bucket.capacity, nextInMs: Number.POSITIVE_INFINITY };
  const left = Math.min(bucket.capacity, Math.floor(bucketLeft(lease, bucket, nowMs)) + lease.held);
  return { left, nextInMs: Math.max(0, nextIn(lease, nowMs)) };
}

/** The part starts with the known fill level of the whole, so that an outage adds no permits. */
function takeOwn(
  lease: Lease,
  bucket: Bucket,
  { want, nowMs, capacity }: { readonly want: number; readonly nowMs: number; readonly capacity: number },
): QuotaGrant {
  const partOf = (whole: number) => (whole * capacity) / bucket.capacity;
  const take = { want, capacity, refillPerMs: partOf(bucket.refillPerMs), nowMs, ttlMs: bucket.ttlMs };
  if (lease.own === null) {
    const used = capacity - Math.floor(partOf(bucketLeft(lease, bucket, nowMs)));
    lease.own = { used: Math.min(capacity, used + lease.uncharged), atMs: nowMs };
  }
  const own = refilled(lease.own, take);
  const granted = Math.min(want, leftIn(own, capacity));
  lease.own = { ...own, used: own.used + granted };
  if (bucket.refillPerMs === 0) lease.uncharged += granted;
  return describeGrant(lease.own, granted, take);
}
