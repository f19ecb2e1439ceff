/** When each key was last used: noted in memory, written in batches, at most once a minute for each key. */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { type CounterRaise, type Counters, StoreUnavailable } from '../../store/port.js';

const GROUP = 'keys/last-used';
const KEPT_MS = 800 * 86_400_000;
/** A use this long after the last one that was written is written, too. */
const STEP_MS = 60_000;
const EVERY_MS = 5000;

export type LastUse = ReturnType<typeof createLastUse>;

export function createLastUse(counters: Counters, clock: Clock, logger: Logger, everyMs = EVERY_MS) {
  const used = new Map<string, number>();
  const written = new Map<string, number>();
  let failing = false;

  /** @param stepMs since the last use that was written. @returns whether the store took it */
  async function write(stepMs: number): Promise<boolean> {
    const raises: CounterRaise[] = [...used]
      .filter(([id, at]) => at - (written.get(id) ?? Number.NEGATIVE_INFINITY) >= stepMs)
      .map(([field, to]) => ({ group: GROUP, field, to }));
    if (raises.length === 0) return true;
    try {
      // A new batch for a repeated raise does no harm: a time is never raised twice.
      await counters.add(randomId(), [], raises, KEPT_MS);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!failing) logger.warn({ err: error }, 'failed to write the last use of keys; retrying');
      failing = true;
      return false;
    }
    failing = false;
    for (const { field, to } of raises) written.set(field, to);
    return true;
  }

  const writing = repeat(everyMs, async () => {
    await write(STEP_MS).catch((error: unknown) =>
      logger.error({ err: error }, 'failed to write the last use of keys'),
    );
  });

  return {
    note: (keyId: string) => void used.set(keyId, Math.floor(clock.now())),
    /** @returns epoch milliseconds by key id, this process's newest uses included. @throws StoreUnavailable */
    async read(): Promise<ReadonlyMap<string, number>> {
      const [stored = new Map<string, number>()] = await counters.read([GROUP]);
      const newest = new Map(stored);
      for (const [id, at] of used) newest.set(id, Math.max(at, newest.get(id) ?? 0));
      return newest;
    },
    /** Writes what is due. @returns whether the store took it */
    flush: () => write(STEP_MS),
    /** Writes every use that is not written yet, if the store takes it. */
    async close(): Promise<void> {
      await writing.stop();
      await write(1);
    },
  };
}
