import { CLOCK_LEAD_MAX_MS, type QuotaGrant, type QuotaTake } from './port.js';

/** A stored bucket: what was used, not what is left, as the capacity may change. */
export interface QuotaBucket {
  /** Permits not returned or refilled yet, with fractions. */
  readonly used: number;
  /** The latest time it has seen. */
  readonly atMs: number;
}

export function checkTake({ want, capacity, refillPerMs, nowMs }: QuotaTake): void {
  checkCount(want);
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
export function refilled(bucket: QuotaBucket | null, take: QuotaTake): QuotaBucket {
  const { capacity, refillPerMs, nowMs } = take;
  if (bucket === null) return { used: 0, atMs: nowMs };
  const used = refillPerMs > 0 ? Math.min(bucket.used, capacity) : bucket.used;
  if (bucket.atMs - nowMs > CLOCK_LEAD_MAX_MS) return { used, atMs: nowMs };
  if (nowMs <= bucket.atMs) return { used, atMs: bucket.atMs };
  return { used: Math.max(0, used - (nowMs - bucket.atMs) * refillPerMs), atMs: nowMs };
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
