/**
 * Counts of this process, written to the counters of all replicas. A batch is repeated with the same id until the store has
 * applied it, so that it counts once.
 */
import type { Logger } from 'pino';
import { randomId } from '../lib/chance.js';
import type { Clock } from '../lib/clock.js';
import { flushAtEnd, oneAtATime, repeat } from '../lib/repeat.js';
import type { CounterAdd, CounterRaise, Counters, Lifetime } from './port.js';

interface CountBatch {
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  /** Of its groups, after the last batch. */
  readonly ttlMs: Lifetime;
}

interface CountBatchesOptions {
  readonly counters: Counters;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** For the log, e.g. `usage`. */
  readonly what: string;
  readonly isEmpty: () => boolean;
  /** Returns the counts, and resets them. Called unless `isEmpty`. */
  readonly take: () => readonly CountBatch[];
  /** Time between two batches; null: flushed only by its owner. */
  readonly everyMs: number | null;
}

/** The store remembers a batch for 10 minutes; repeated later, its adds could count twice. Raises cannot. */
const REPEATED_MS = 9 * 60_000;
/** A group that is read to find out whether the store answers. */
const PROBE = 'usage';

export function createCountBatches(options: CountBatchesOptions) {
  const { counters, clock, logger, what, isEmpty, take } = options;
  /** Taken, not applied as far as is known. */
  let waiting: (CountBatch & { readonly id: string; sinceMs?: number })[] = [];
  let isFailing = false;

  async function send(): Promise<void> {
    for (let batch = waiting[0]; batch !== undefined; batch = waiting[0]) {
      const { id, adds, raises, ttlMs } = batch;
      batch.sinceMs ??= clock.monotonicMs();
      if (adds.length > 0 && clock.monotonicMs() - batch.sinceMs > REPEATED_MS)
        logger.error({ counts: adds.length }, `a batch of ${what} is lost: the store was away for too long`);
      else {
        await counters.add(id, adds, raises, ttlMs);
        isFailing = false;
      }
      waiting = waiting.slice(1);
    }
  }

  /** @returns whether the store has all counts. Never rejects */
  const flush = oneAtATime(async (): Promise<boolean> => {
    try {
      await send();
      if (isEmpty()) return true;
      // Counts that are taken no longer merge with later ones: after a failure only once the store answers.
      if (isFailing) await counters.read([PROBE]);
      isFailing = false;
      waiting = take().map((batch) => ({ ...batch, id: randomId() }));
      await send();
      return true;
    } catch (error) {
      if (!isFailing) logger.warn({ err: error }, `${what} cannot be written; it is kept in memory`);
      isFailing = true;
      return false;
    }
  });

  const flushes = options.everyMs === null ? null : repeat(options.everyMs, async () => void (await flush()));
  return {
    flush,
    /** @returns whether the store has all counts. Never rejects */
    async close(tries = 1): Promise<boolean> {
      await flushes?.stop();
      return flushAtEnd(flush, tries);
    },
  };
}

/** Per command, which has a time limit. */
const GROUPS_AT_ONCE = 500;

/** @returns the fields of each group, in the order of `groups`. @throws StoreUnavailable */
export async function readGroups(
  counters: Pick<Counters, 'read'>,
  groups: readonly string[],
): Promise<ReadonlyMap<string, number>[]> {
  const found: ReadonlyMap<string, number>[] = [];
  for (let at = 0; at < groups.length; at += GROUPS_AT_ONCE)
    found.push(...(await counters.read(groups.slice(at, at + GROUPS_AT_ONCE))));
  return found;
}
