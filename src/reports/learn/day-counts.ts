/** Counts of days by group and name, which all replicas add to: in memory until the next flush, and added once. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createCountBatches, readGroups } from '../../store/count-batches.js';
import type { CounterAdd, CounterRaise, Counters } from '../../store/port.js';

/** After the last count of a group. */
const KEPT_MS = 500 * 86_400_000;
/** Limit of unwritten counts; further ones are dropped. */
const MAX_WAITING = 20_000;

export type DayCounts = ReturnType<typeof createDayCounts>;

export function createDayCounts({
  counters,
  clock,
  logger,
}: {
  readonly counters: Counters;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
}) {
  let adds = new Map<string, CounterAdd>();
  let raises = new Map<string, CounterRaise>();
  const { flush } = createCountBatches({
    counters,
    clock,
    logger,
    everyMs: null,
    what: 'what was counted of days',
    isEmpty: () => adds.size + raises.size === 0,
    take() {
      const batch = { adds: [...adds.values()], raises: [...raises.values()], ttlMs: KEPT_MS };
      [adds, raises] = [new Map(), new Map()];
      return [batch];
    },
  });
  const isRoom = (waiting: ReadonlyMap<string, unknown>, key: string) =>
    waiting.has(key) || adds.size + raises.size < MAX_WAITING;
  return {
    /** @returns false if it is dropped: the store has been away for long */
    add(group: string, field: string, by = 1): boolean {
      const key = `${group} ${field}`;
      if (!isRoom(adds, key)) return false;
      adds.set(key, { group, field, by: (adds.get(key)?.by ?? 0) + by });
      return true;
    },
    /** Raises a number to at least `to`. */
    raise(group: string, field: string, to: number): void {
      const key = `${group} ${field}`;
      if (isRoom(raises, key)) raises.set(key, { group, field, to: Math.max(raises.get(key)?.to ?? to, to) });
    },
    /** As stored. @throws StoreUnavailable */
    read: (groups: readonly string[]) => readGroups(counters, groups),
    /** @returns whether the store has all of it. Never rejects */
    flush,
  };
}
