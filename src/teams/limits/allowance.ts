/**
 * Permits of buckets that all replicas share, drawn from the store in batches, so that most requests need no store call.
 *
 * A permit is drawn before it is used, so the replicas together never exceed the bucket. They hold at most
 * {@link BATCH_PART} of a bucket unused, for at most {@link HELD_MS}. Without the store, each replica uses its own part of what
 * the bucket is known to have left. Once the store is back, {@link Allowances.settle} charges what was used, and a replica
 * keeps to its part until the others have charged theirs.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type Bus, type QuotaGrant, type Quotas, StoreUnavailable } from '../../store/port.js';
import { leftIn, type QuotaBucket, refilled } from '../../store/quota-bucket.js';
import { type BucketUse, createBucketNews } from './bucket-news.js';
import { beginPart, countPart, type OwnPart, putBackInPart, takePart } from './own-part.js';
import type { Replicas } from './replicas.js';

/** Part of a bucket in the batches of all replicas together. */
const BATCH_PART = 0.05;
/** Unused permits are released after this time: a refilled bucket would be more than full with them. */
const HELD_MS = 15_000;
/** Bounds of the interval of store calls about an empty bucket. */
const [ASK_AGAIN_MIN_MS, ASK_AGAIN_MAX_MS] = [20, 1000];
/** How long the part is kept to after the last failure: longer than two beats, a reconnection and a settlement of others take. */
const OTHERS_SETTLE_MS = 3000;
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
  /** The last answer, of the store or about this replica's part, with its wall time; null: none yet. */
  said: { readonly left: number; readonly nextInMs: number; readonly atMs: number } | null;
  /** Earliest next store call about an empty bucket; 0: now. */
  askAtMs: number;
  /** The bucket as the store last described it; null: unused. */
  whole: QuotaBucket | null;
  /** This replica's part, without the store. */
  own: OwnPart | null;
  /** This replica as a taker from the bucket, see {@link QuotaTaker}. */
  readonly taker: { readonly id: string; taken: number; confirmed: number };
  waiting: number;
  drawing: Promise<void> | null;
}

interface AllowanceParts {
  readonly quotas: Quotas;
  readonly bus: Bus;
  readonly replicas: Pick<Replicas, 'count' | 'share'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Allowances {
  readonly #parts: AllowanceParts;
  readonly #leases = new Map<string, Lease>();
  readonly #returns = new Set<Promise<void>>();
  readonly #news: ReturnType<typeof createBucketNews>;
  /** The last failure of the store; null: it answers, and the replicas have charged what they used meanwhile. */
  #failedAtMs: number | null = null;

  constructor(parts: AllowanceParts) {
    this.#parts = parts;
    this.#news = createBucketNews(parts, (use) => this.#hearUse(use));
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
    const own = lease.own && putBackInPart(lease.own);
    if (own !== null) lease.own = own;
    else lease.held += 1;
    this.#giveBack(lease);
  }

  /** Raises the used permits to at least `used`. @throws StoreUnavailable */
  async charge(bucket: Bucket, used: number): Promise<void> {
    const { quotas, clock } = this.#parts;
    const take = { ...bucket, nowMs: clock.now() };
    const { left } = await quotas.take(bucket.key, { ...take, want: 0 });
    const missing = Math.max(0, used - (bucket.capacity - left));
    const grant = missing > 0 ? await quotas.take(bucket.key, { ...take, want: missing }) : { left };
    this.#leaseOf(bucket).whole = { used: bucket.capacity - grant.left, atMs: take.nowMs };
  }

  /** The store did not answer another call of this process. */
  sawAway(): void {
    this.#failedAtMs = this.#parts.clock.monotonicMs();
  }

  /**
   * Charges what was used without the store, if that is back, and tells the other replicas what is used. To be called
   * several times a second; cheap if there is nothing to do.
   */
  async settle(): Promise<void> {
    if (this.#failedAtMs === null || (await this.#settleAll())) await this.#news.publish();
  }

  /** @returns whether the store answers */
  async #settleAll(): Promise<boolean> {
    const { clock, replicas, quotas } = this.#parts;
    const leases = [...this.#leases.values()];
    try {
      // Permits that refill are counted as late as possible, so only when the store answers.
      for (const { bucket } of leases.slice(0, 1))
        await quotas.take(bucket.key, { ...bucket, want: 0, nowMs: clock.now() });
      for (const lease of leases) {
        countOwn(lease, clock.now());
        if (isUnconfirmed(lease)) await this.#tell(lease, 0, clock.now());
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.sawAway();
      return false;
    }
    const waitsMs = replicas.count > 1 ? OTHERS_SETTLE_MS : 0;
    if (this.#failedAtMs !== null && clock.monotonicMs() - this.#failedAtMs >= waitsMs) this.#comeBack();
    return true;
  }

  /** Unless a part was used meanwhile. */
  #comeBack(): void {
    const leases = [...this.#leases.values()];
    for (const lease of leases) countOwn(lease, this.#parts.clock.now());
    if (leases.some(isUnconfirmed)) return;
    for (const lease of leases) lease.own = null;
    this.#failedAtMs = null;
  }

  #hearUse({ used, ...bucket }: BucketUse): void {
    const lease = this.#leases.get(bucket.key) ?? this.#leaseOf(bucket);
    if (used <= (lease.whole?.used ?? 0)) return;
    lease.whole = { used, atMs: this.#parts.clock.now() };
    if (lease.own === null && lease.said !== null)
      lease.said = { ...lease.said, left: leftIn(lease.whole, lease.bucket.capacity) };
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

  /** Charges what was used without the store, and returns all unused permits. */
  async close(): Promise<void> {
    await this.settle();
    this.#news.close();
    const leases = [...this.#leases.values()];
    for (const lease of leases) countOwn(lease, this.#parts.clock.now());
    const lost = leases.filter((lease) => isUnconfirmed(lease) && lease.bucket.refillPerMs === 0);
    if (lost.length > 0) this.#parts.logger.warn({ buckets: lost.map(({ bucket }) => bucket.key) }, LOST);
    for (const lease of leases) this.#giveBack(lease);
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
        whole: null,
        own: null,
        taker: { id: randomId(), taken: 0, confirmed: 0 },
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
    const { replicas, logger } = this.#parts;
    if (this.#failedAtMs === null) {
      try {
        return await this.#tell(lease, want, nowMs);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.sawAway();
        logger.debug({ err: error }, 'failed to draw permits from the store; using this replica’s part');
      }
    }
    const { bucket } = lease;
    const capacity = replicas.share(bucket.capacity);
    const part = lease.own ?? beginPart(bucket, usedOf(lease, bucket, nowMs), capacity, nowMs);
    const { after, grant } = takePart(part, { bucket, want, capacity, nowMs });
    lease.own = after;
    return grant;
  }

  /** Asks the store, which charges what it does not know of. @throws StoreUnavailable */
  async #tell(lease: Lease, want: number, nowMs: number): Promise<QuotaGrant> {
    const { bucket, taker } = lease;
    const { id, taken, confirmed } = taker;
    const known = usedOf(lease, bucket, nowMs);
    const asTaker = { id, taken, unconfirmed: taken - confirmed, known };
    const grant = await this.#parts.quotas.take(bucket.key, { ...bucket, want, nowMs, taker: asTaker });
    taker.taken += grant.granted;
    taker.confirmed = Math.max(taker.confirmed, taken) + grant.granted;
    lease.whole = { used: bucket.capacity - grant.left, atMs: nowMs };
    if (bucket.refillPerMs === 0)
      this.#news.note({ ...bucket, refillPerMs: 0, batch: bucket.batch ?? 1, used: lease.whole.used });
    return grant;
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
        lease.whole = { used: bucket.capacity - left, atMs: this.#parts.clock.now() };
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

const LOST = 'the store is away at the end: what teams used without it is not charged';

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

/** Used permits of the whole bucket, as far as this replica knows. */
function usedOf({ whole }: Lease, { capacity, refillPerMs }: Bucket, nowMs: number): number {
  if (whole === null) return 0;
  return refilled(whole, { capacity, refillPerMs, nowMs }).used;
}

function isUnconfirmed({ taker }: Lease): boolean {
  return taker.taken > taker.confirmed;
}

/** Counts what was used of this replica's part as taken. */
function countOwn(lease: Lease, nowMs: number): void {
  if (lease.own === null) return;
  const { after, uncounted } = countPart(lease.own, nowMs);
  lease.taker.taken += uncounted;
  lease.own = after;
}
