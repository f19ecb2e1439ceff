import { wholeMs } from '../check-input.js';
import type { Quotas } from '../port.js';
import { checkGive, checkTake, describeGrant, leftIn } from '../quota-bucket.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';

/** Token buckets as hashes that do not expire by themselves; see data-scripts.ts. */
export function createRedisQuotas(link: Link, { quotas: { ends, bucket } }: Keys): Quotas {
  return {
    async take(key, take) {
      checkTake(take);
      const { want, capacity, refillPerMs, nowMs } = take;
      const ttlMs = wholeMs(take.ttlMs, 1);
      const [granted, used, atMs] = await link.call((client) =>
        client.dgwTake(ends, bucket(key), want, capacity, refillPerMs, nowMs, ttlMs),
      );
      return describeGrant({ used: Number(used), atMs: Number(atMs) }, granted, take);
    },
    async give(key, count, capacity) {
      checkGive(count, capacity);
      const used = await link.call((client) => client.dgwGive(ends, bucket(key), count));
      return leftIn({ used: Number(used ?? 0) }, capacity);
    },
  };
}
