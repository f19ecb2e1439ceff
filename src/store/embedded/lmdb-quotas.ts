import Type from 'typebox';
import type { Quotas } from '../port.js';
import { checkGive, checkTake, describeGrant, leftIn, refilled } from '../quota-bucket.js';
import { wholeMs } from '../whole-ms.js';
import { nameKey } from './keys.js';
import type { Lapsing, LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const BUCKETS = 'q';
const Bucket = Type.Object({ used: Type.Number(), atMs: Type.Number() });

/** Token buckets as records that end. */
export function createLmdbQuotas(lapsing: LapsingRecords): Quotas {
  const bucketOf = (found: Lapsing | null) => (found === null ? null : fromBytes(Bucket, found.value));
  return {
    async take(key, take) {
      checkTake(take);
      const ttlMs = wholeMs(take.ttlMs, 1);
      return await lapsing.change(nameKey(BUCKETS, key), (found) => {
        const bucket = refilled(bucketOf(found), take);
        const granted = Math.min(take.want, leftIn(bucket, take.capacity));
        const next = { ...bucket, used: bucket.used + granted };
        const result = describeGrant(next, granted, take);
        if (take.want === 0) return { result };
        return { result, write: { value: toBytes(next), endsAtMs: lapsing.now() + ttlMs } };
      });
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      return await lapsing.change(nameKey(BUCKETS, key), (found) => {
        const bucket = bucketOf(found);
        if (found === null || bucket === null) return { result: leftIn({ used: 0 }, capacity) };
        const next = { ...bucket, used: Math.max(0, bucket.used - count) };
        return { result: leftIn(next, capacity), write: { ...found, value: toBytes(next) } };
      });
    },
  };
}
