import type { Clock } from '../../../src/clock.js';
import { wholeMs } from '../../../src/store/check-input.js';
import type { Quotas } from '../../../src/store/port.js';
import {
  checkGive,
  checkTake,
  describeGrant,
  leftIn,
  type QuotaBucket,
  refilled,
} from '../../../src/store/quota-bucket.js';
import { createLapsingMap } from './lapsing-map.js';

/** Token buckets within this process. */
export function createMemoryQuotas(clock: Clock, buckets = createLapsingMap<QuotaBucket>(clock)): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const ttlMs = wholeMs(take.ttlMs, 1);
      const bucket = refilled(buckets.get(key) ?? null, take);
      const granted = Math.min(take.want, leftIn(bucket, take.capacity));
      const next = { ...bucket, used: bucket.used + granted };
      if (take.want > 0) buckets.set(key, next, ttlMs);
      return describeGrant(next, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const bucket = buckets.get(key);
      if (bucket === undefined) return leftIn({ used: 0 }, capacity);
      const next = { ...bucket, used: Math.max(0, bucket.used - count) };
      buckets.replace(key, next);
      return leftIn(next, capacity);
    },
  };
}
