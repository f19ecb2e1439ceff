/** Replicas of limits on one store, with a clock that a test moves. */

import { createMemoryQuotas } from '../../../src/store/embedded/embedded-store.js';
import { type Quotas, StoreUnavailable } from '../../../src/store/port.js';
import { Allowances } from '../../../src/teams/limits/allowance.js';
import type { Replicas } from '../../../src/teams/limits/replicas.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createTestClock } from '../../support/test-clock.js';

/** One of `count` replicas; `rank` is its place among them. */
export function replicaOf(count: number, rank = 0): Pick<Replicas, 'count' | 'share'> {
  return {
    count,
    share: (whole) => Math.max(1, Math.floor(whole / count) + (rank < whole % count ? 1 : 0)),
  };
}

export function createAllowanceRig(count: number) {
  const clock = createTestClock();
  const quotas = createMemoryQuotas(clock);
  /** `trips`: calls that reached the store. `storeIsThere`: whether the store answers. */
  const rig = { clock, quotas, trips: 0, storeIsThere: true, replicas: [] as Allowances[] };
  const watched: Quotas = {
    async take(key, take) {
      rig.trips += 1;
      if (!rig.storeIsThere) throw new StoreUnavailable('away');
      return quotas.take(key, take);
    },
    async give(key, given, capacity) {
      if (!rig.storeIsThere) throw new StoreUnavailable('away');
      return quotas.give(key, given, capacity);
    },
  };
  const { logger } = createRecordedLog();
  for (let rank = 0; rank < count; rank++)
    rig.replicas.push(new Allowances({ quotas: watched, replicas: replicaOf(count, rank), clock, logger }));
  return rig;
}
