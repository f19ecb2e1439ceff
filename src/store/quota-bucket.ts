import { CLOCK_LEAD_MAX_MS, type QuotaGrant, type QuotaTake, type QuotaTaker } from './port.js';

/** A stored bucket: what was used, not what is left, as the capacity may change. */
export interface QuotaBucket {
  /** Permits not returned or refilled yet, with fractions. */
  readonly used: number;
  /** The latest time it has seen. */
  readonly atMs: number;
  /** By the id of a taker, what it has taken. */
  readonly taken?: ReadonlyMap<string, number>;
}

/** Above this number of takers, a bucket forgets all but the latest: as if it did not know them. */
export const TAKERS_MAX = 1000;

/** Of a caller that never takes without the store. */
export const NO_TAKER: QuotaTaker = { id: '', taken: 0, unconfirmed: 0, known: 0 };

export function checkTake({ want, capacity, refillPerMs, nowMs, taker = NO_TAKER }: QuotaTake): void {
  checkCount(want);
  for (const count of [taker.taken, taker.unconfirmed]) checkCount(count);
  checkAmount(taker.known);
  checkAmount(capacity);
  checkAmount(refillPerMs);
  if (!Number.isFinite(nowMs)) throw new RangeError(`not a time: ${nowMs}`);
}

export function checkGive(count: number, capacity: number): void {
  checkCount(count);
  checkAmount(capacity);
}

function checkCount(count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`not a number of permits: ${count}`);
}

function checkAmount(amount: number): void {
  if (!Number.isFinite(amount) || amount < 0) throw new RangeError(`not a capacity or a rate: ${amount}`);
}

/** The bucket at the time of the call. @param bucket null: a new one */
export function refilled(
  bucket: QuotaBucket | null,
  take: Pick<QuotaTake, 'capacity' | 'refillPerMs' | 'nowMs' | 'taker'>,
): QuotaBucket {
  const { capacity, refillPerMs, nowMs } = take;
  if (bucket === null) return { used: take.taker?.known ?? 0, atMs: nowMs };
  const used = refillPerMs > 0 ? Math.min(bucket.used, capacity) : bucket.used;
  if (bucket.atMs - nowMs > CLOCK_LEAD_MAX_MS) return { used, atMs: nowMs };
  if (nowMs <= bucket.atMs) return { used, atMs: bucket.atMs };
  return { used: Math.max(0, used - (nowMs - bucket.atMs) * refillPerMs), atMs: nowMs };
}

/** One call. @param before null: a new bucket. @returns the bucket afterwards, to be stored if it `changed` */
export function takeFrom(before: QuotaBucket | null, take: QuotaTake) {
  const { want, capacity, taker = NO_TAKER } = take;
  const bucket = refilled(before, take);
  const had = before?.taken?.get(taker.id) ?? taker.taken - taker.unconfirmed;
  const late = Math.max(0, taker.taken - had);
  const lost = Math.max(0, had - taker.taken);
  const granted = Math.min(want, lost + leftIn({ used: bucket.used + late }, capacity));
  const fresh = Math.max(0, granted - lost);
  const known = before?.taken ?? new Map<string, number>();
  const taken = new Map(known.size < TAKERS_MAX ? known : []);
  if (taker.id !== '') taken.set(taker.id, had + late + fresh);
  const after: QuotaBucket = { used: bucket.used + late + fresh, atMs: bucket.atMs, taken };
  return { after, granted, changed: want > 0 || late > 0 };
}

export function leftIn({ used }: Pick<QuotaBucket, 'used'>, capacity: number): number {
  return Math.max(0, Math.floor(capacity - used));
}

/** @param bucket after the call */
export function describeGrant(bucket: QuotaBucket, granted: number, take: QuotaTake): QuotaGrant {
  const { capacity, refillPerMs, nowMs } = take;
  const left = leftIn(bucket, capacity);
  const missing = left + 1 - (capacity - bucket.used);
  const comes = left + 1 <= capacity && refillPerMs > 0;
  const nextInMs = comes ? bucket.atMs - nowMs + Math.ceil(missing / refillPerMs) : Number.POSITIVE_INFINITY;
  return { granted, left, nextInMs };
}
