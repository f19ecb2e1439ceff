/** The last use of each key: kept in memory, written with the tally, at most once a minute per key. */
import type { Clock } from '../../lib/clock.js';
import type { Counters } from '../../store/port.js';
import { LAST_USED } from '../tally/groups.js';

/** Minimum interval of written uses of a key. */
const STEP_MS = 60_000;

export function createLastUse(counters: Pick<Counters, 'read'>, clock: Pick<Clock, 'now'>) {
  const used = new Map<string, number>();
  const written = new Map<string, number>();
  /** Keys used since they were written. */
  const unwritten = new Set<string>();
  let stepMs = STEP_MS;
  const usedAt = (id: string) => used.get(id) as number;
  const isDue = (id: string) => usedAt(id) - (written.get(id) ?? Number.NEGATIVE_INFINITY) >= stepMs;

  return {
    note(keyId: string, nowMs = clock.now()): void {
      used.set(keyId, Math.floor(nowMs));
      unwritten.add(keyId);
    },
    /** @returns epoch milliseconds by key id, including unwritten uses of this process. @throws StoreUnavailable */
    async read(): Promise<ReadonlyMap<string, number>> {
      const [stored = new Map<string, number>()] = await counters.read([LAST_USED]);
      const newest = new Map(stored);
      for (const [id, at] of used) newest.set(id, Math.max(at, newest.get(id) ?? 0));
      return newest;
    },
    /** For the tally. */
    notes: {
      isEmpty: () => ![...unwritten].some(isDue),
      take() {
        const raises = [...unwritten]
          .filter(isDue)
          .map((id) => ({ group: LAST_USED, field: id, to: usedAt(id) }));
        for (const { field, to } of raises) {
          written.set(field, to);
          unwritten.delete(field);
        }
        return raises;
      },
    },
    /** The tally's last flush writes all uses. */
    end(): void {
      stepMs = 1;
    },
  };
}
