/** A replica's part of a bucket while the store is away, and what of its use the store is to be told. */

import type { QuotaTake } from '../../store/port.js';
import { describeGrant, leftIn, type QuotaBucket, refilled } from '../../store/quota-bucket.js';

type Bucket = Pick<QuotaTake, 'capacity' | 'refillPerMs' | 'ttlMs'>;

export interface OwnPart {
  readonly bucket: QuotaBucket;
  /** The same without the permits that are not counted as taken yet. */
  readonly counted: QuotaBucket;
  readonly capacity: number;
  readonly refillPerMs: number;
}

/** @param used of the whole bucket: an outage adds no permits. @param capacity of the part */
export function beginPart(bucket: Bucket, used: number, capacity: number, nowMs: number): OwnPart {
  const left = Math.floor((Math.max(0, bucket.capacity - used) * capacity) / bucket.capacity);
  const begun = { used: capacity - left, atMs: nowMs };
  return { bucket: begun, counted: begun, ...sizeOf(bucket, capacity) };
}

/** @param part of a bucket that may have another limit since */
export function takePart(part: OwnPart, { bucket, want, capacity, nowMs }: PartTake) {
  const own = refillPart({ ...part, ...sizeOf(bucket, capacity) }, nowMs);
  const granted = Math.min(want, leftIn(own.bucket, capacity));
  const after = { ...own, bucket: { ...own.bucket, used: own.bucket.used + granted } };
  const take = { want, nowMs, ttlMs: bucket.ttlMs, capacity, refillPerMs: own.refillPerMs };
  return { after, grant: describeGrant(after.bucket, granted, take) };
}

/** Counts what was used of the part, and has not refilled, as taken. */
export function countPart(part: OwnPart, nowMs: number) {
  const own = refillPart(part, nowMs);
  const uncounted = uncountedOf(own);
  return { after: { ...own, counted: { ...own.counted, used: own.counted.used + uncounted } }, uncounted };
}

/** @returns null if the permit is counted already */
export function putBackInPart(part: OwnPart): OwnPart | null {
  if (uncountedOf(part) < 1) return null;
  return { ...part, bucket: { ...part.bucket, used: part.bucket.used - 1 } };
}

interface PartTake {
  readonly bucket: Bucket;
  readonly want: number;
  /** Of the part. */
  readonly capacity: number;
  readonly nowMs: number;
}

function sizeOf(bucket: Bucket, capacity: number) {
  return { capacity, refillPerMs: (bucket.refillPerMs * capacity) / bucket.capacity };
}

function uncountedOf({ bucket, counted }: OwnPart): number {
  return Math.max(0, Math.floor(bucket.used - counted.used));
}

function refillPart(part: OwnPart, nowMs: number): OwnPart {
  const take = { capacity: part.capacity, refillPerMs: part.refillPerMs, nowMs };
  return { ...part, bucket: refilled(part.bucket, take), counted: refilled(part.counted, take) };
}
