/** Permits that were drawn and not used, on their way back to their buckets. */
import type { Logger } from 'pino';
import type { Quotas } from '../store/port.js';
import type { LocalLease } from './local-leases.js';

export interface PermitReturns {
  /** What is held goes back to its bucket; a store that is away gets it with the next return. */
  giveBack(lease: LocalLease): void;
  /**
   * What is held is let go of. Permits of a bucket that refills have come back by themselves since, and must not come
   * back twice.
   */
  letGo(lease: LocalLease): void;
  /** Waits until those under way have arrived, or failed. */
  settled(): Promise<void>;
}

export function createPermitReturns(quotas: Quotas, logger: Logger): PermitReturns {
  const underWay = new Set<Promise<void>>();

  function giveBack(lease: LocalLease): void {
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
        logger.debug({ err: error }, 'permits could not be given back');
      })
      .finally(() => underWay.delete(giving));
    underWay.add(giving);
  }

  return {
    giveBack,
    letGo(lease) {
      if (lease.bucket.refillPerMs === 0) giveBack(lease);
      else lease.held = 0;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}
