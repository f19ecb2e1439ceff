/** A bucket, and what is known of it without asking the store. Pure. */

/** A bucket as all replicas agree on it. */
export interface Bucket {
  readonly key: string;
  /** Permits in a full bucket. */
  readonly capacity: number;
  /** Permits that come back; 0: none ever. */
  readonly refillPerMs: number;
  /** Real time after which the store may forget it: when it is full again, or of no use. */
  readonly ttlMs: number;
  /** Permits drawn at once when fewer are wanted; unless said, a small part of the bucket. */
  readonly batch?: number;
}

export function isSameLimit(one: Bucket, other: Bucket): boolean {
  return one.capacity === other.capacity && one.refillPerMs === other.refillPerMs;
}

/** What is known of a bucket without asking. Others' permits drawn and not used count as used. */
export interface QuotaStatus {
  readonly left: number;
  /** Milliseconds until there is one more; Infinity when there never will be. */
  readonly nextInMs: number;
}

/** What the bucket said last, and when by the wall clock; null while nothing was heard of it. */
export interface Known {
  readonly said: { readonly left: number; readonly nextInMs: number; readonly atMs: number } | null;
}

/** Permits in a bucket by now, fractions among them. */
export function bucketLeft({ said }: Known, { capacity, refillPerMs }: Bucket, nowMs: number): number {
  if (said === null) return capacity;
  const { left, atMs } = said;
  return Math.min(capacity, left + Math.max(0, nowMs - atMs) * refillPerMs);
}

/** A clock that was set back since then makes nobody wait longer. */
export function nextIn(said: Known['said'], nowMs: number): number {
  return said === null ? 0 : said.nextInMs - Math.max(0, nowMs - said.atMs);
}

export function lookAt(
  lease: (Known & { readonly held: number }) | undefined,
  bucket: Bucket,
  nowMs: number,
): QuotaStatus {
  if (lease === undefined || lease.said === null)
    return { left: bucket.capacity, nextInMs: Number.POSITIVE_INFINITY };
  const left = Math.min(bucket.capacity, Math.floor(bucketLeft(lease, bucket, nowMs)) + lease.held);
  return { left, nextInMs: Math.max(0, nextIn(lease.said, nowMs)) };
}
