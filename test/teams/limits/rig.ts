/** Replicas of limits on one store, with a clock that a test moves. */

import { createMemoryQuotas } from '../../../src/store/embedded/embedded-store.js';
import { createLocalBus } from '../../../src/store/listeners.js';
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
  const log = createRecordedLog();
  /**
   * `trips`: calls that reached the store. `storeIsThere`: whether the store answers; `answersAreLost`: it does what it is
   * asked, but no answer arrives. `isCutOff`: the replica whom it does not answer.
   */
  const rig = {
    clock,
    quotas,
    log,
    trips: 0,
    storeIsThere: true,
    answersAreLost: false,
    isCutOff: null as Allowances | null,
    replicas: [] as Allowances[],
  };
  const bus = createLocalBus(log.logger);
  for (let rank = 0; rank < count; rank++) {
    const reach = async <T>(work: () => Promise<T>): Promise<T> => {
      const isThere = rig.storeIsThere && (rig.isCutOff === null || rig.isCutOff !== rig.replicas[rank]);
      if (!isThere) throw new StoreUnavailable('away');
      const answer = await work();
      if (rig.answersAreLost) throw new StoreUnavailable('no answer in time');
      return answer;
    };
    const watched: Quotas = {
      take(key, take) {
        rig.trips += 1;
        return reach(() => quotas.take(key, take));
      },
      give: (key, given, capacity) => reach(() => quotas.give(key, given, capacity)),
    };
    const replicas = replicaOf(count, rank);
    rig.replicas.push(new Allowances({ quotas: watched, bus, replicas, clock, logger: log.logger }));
  }
  return rig;
}
