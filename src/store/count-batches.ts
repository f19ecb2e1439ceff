/**
 * Counts of this process, written to the counters that all replicas share. A batch has an id of its own and is repeated
 * with it until the store has taken it, so it counts once, whatever happens on the way.
 */
import type { Logger } from 'pino';
import { randomId } from '../lib/chance.js';
import type { Clock } from '../lib/clock.js';
import { flushAtEnd, oneAtATime, repeat } from '../lib/repeat.js';
import type { CounterAdd, CounterRaise, Counters } from './port.js';

export interface CountBatch {
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  /** The groups it touches are gone so long after the last batch. */
  readonly ttlMs: number;
}

interface CountBatchesOptions {
  readonly counters: Counters;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** For the log, e.g. `usage`. */
  readonly what: string;
  readonly isEmpty: () => boolean;
  /** Takes what was counted; counting begins anew. Called when `isEmpty` says that there is something. */
  readonly take: () => readonly CountBatch[];
  /** Time between two batches; null: flushed by its owner alone. */
  readonly everyMs: number | null;
}

/** The store knows a batch for 10 minutes; later a repetition might count twice. What is raised it cannot count twice. */
const REPEATED_MS = 9 * 60_000;
/** Of no batch: whether it can be read tells whether the store answers. */
const PROBE = 'usage';

export function createCountBatches(options: CountBatchesOptions) {
  const { counters, clock, logger, what, isEmpty, take } = options;
  /** Taken, and not known to have arrived. */
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

  /** Writes what was counted so far. @returns whether the store took it all. Never rejects */
  const flush = oneAtATime(async (): Promise<boolean> => {
    try {
      await send();
      if (isEmpty()) return true;
      // What was taken cannot be put together with later counts: after a failure it is taken when the store answers.
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
    /** Writes what is left, in at most so many tries. @returns whether the store took it all. Never rejects */
    async close(tries = 1): Promise<boolean> {
      await flushes?.stop();
      return flushAtEnd(flush, tries);
    },
  };
}

/** A store answers one command within its time; many groups are read in several. */
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
