/** When each key was last used: noted in memory, written in batches, at most once a minute for each key. */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import { type CounterRaise, type Counters, StoreUnavailable } from '../../store/port.js';

const GROUP = 'keys/last-used';
const KEPT_MS = 800 * 86_400_000;
/** A use this long after the last one that was written is written, too. */
const STEP_MS = 60_000;
const EVERY_MS = 5000;

export interface LastUse {
  note(keyId: string): void;
  /** @returns epoch milliseconds by key id, this process's newest uses included. @throws StoreUnavailable */
  read(): Promise<ReadonlyMap<string, number>>;
  /** Writes what is due. @returns whether the store took it */
  flush(): Promise<boolean>;
  /** Writes every use that is not written yet, if the store takes it. */
  close(): Promise<void>;
}

export interface LastUseOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly everyMs?: number;
}

export function createLastUse({ counters, clock, logger, everyMs = EVERY_MS }: LastUseOptions): LastUse {
  const used = new Map<string, number>();
  const written = new Map<string, number>();
  let failing = false;

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
      if (!failing) logger.warn({ err: error }, 'the last use of keys could not be written; trying again');
      failing = true;
      return false;
    }
    failing = false;
    for (const { field, to } of raises) written.set(field, to);
    return true;
  }

  const timer = startTicks(() => {
    write(STEP_MS).catch((error: unknown) =>
      logger.error({ err: error }, 'the last use of keys was not written'),
    );
  }, everyMs);
  timer.unref();

  return {
    note: (keyId) => void used.set(keyId, Math.floor(clock.now())),
    async read() {
      const [stored = new Map<string, number>()] = await counters.read([GROUP]);
      const newest = new Map(stored);
      for (const [id, at] of used) newest.set(id, Math.max(at, newest.get(id) ?? 0));
      return newest;
    },
    flush: () => write(STEP_MS),
    async close() {
      stopTicks(timer);
      await write(1);
    },
  };
}
