/** The last use of each key: kept in memory, written in batches, at most once a minute per key. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createCountBatches } from '../../store/count-batches.js';
import type { Counters } from '../../store/port.js';

const GROUP = 'keys/last-used';
const KEPT_MS = 800 * 86_400_000;
/** Minimum interval of written uses of a key. */
const STEP_MS = 60_000;
const EVERY_MS = 5000;

export function createLastUse(counters: Counters, clock: Clock, logger: Logger, everyMs = EVERY_MS) {
  const used = new Map<string, number>();
  const written = new Map<string, number>();
  let stepMs = STEP_MS;
  const due = () =>
    [...used].filter(([id, at]) => at - (written.get(id) ?? Number.NEGATIVE_INFINITY) >= stepMs);
  const batches = createCountBatches({
    ...{ counters, clock, logger, everyMs, what: 'the last use of keys' },
    isEmpty: () => due().length === 0,
    take() {
      const raises = due().map(([field, to]) => ({ group: GROUP, field, to }));
      for (const { field, to } of raises) written.set(field, to);
      return [{ adds: [], raises, ttlMs: KEPT_MS }];
    },
  });

  return {
    note: (keyId: string, nowMs = clock.now()) => void used.set(keyId, Math.floor(nowMs)),
    /** @returns epoch milliseconds by key id, including unwritten uses of this process. @throws StoreUnavailable */
    async read(): Promise<ReadonlyMap<string, number>> {
      const [stored = new Map<string, number>()] = await counters.read([GROUP]);
      const newest = new Map(stored);
      for (const [id, at] of used) newest.set(id, Math.max(at, newest.get(id) ?? 0));
      return newest;
    },
    /** @returns whether the store took it */
    flush: batches.flush,
    /** Writes all unwritten uses, if the store takes them. */
    async close(): Promise<void> {
      stepMs = 1;
      await batches.close();
    },
  };
}
