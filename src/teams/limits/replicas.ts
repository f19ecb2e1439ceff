/**
 * The processes that serve requests now, and this one's part of a limit.
 *
 * Real time, never the movable clock: a process is there or it is not.
 */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import type { Presence, Present } from '../../store/port.js';

export type Replicas = ReturnType<typeof createReplicas>;

export interface ReplicasOptions {
  readonly presence: Presence;
  readonly logger: Logger;
  /** The id of this process; random when not given. */
  readonly id?: string;
  /** The information that this process publishes with each beat, as text. */
  readonly info?: () => string;
  readonly beatMs?: number;
  /** A process that was killed is still counted for so long. */
  readonly lapseMs?: number;
}

export function createReplicas(options: ReplicasOptions) {
  const { presence, logger, beatMs = 1000, lapseMs = 5000 } = options;
  const { id = randomId(), info = () => String(process.pid) } = options;
  let joined = false;
  let [count, rank] = [1, 0];
  let others: readonly Present[] = [];

  async function look(): Promise<void> {
    try {
      if (joined) await presence.beat(id, info(), lapseMs);
      const all = await presence.list();
      const ids = all.map((one) => one.id);
      others = all.filter((one) => one.id !== id);
      count = Math.max(1, ids.length);
      rank = Math.max(0, ids.indexOf(id));
    } catch (error) {
      logger.debug({ err: error }, 'failed to count the replicas; keeping the last count');
    }
  }

  let looking = look();
  const timer = startTicks(() => {
    looking = look();
  }, beatMs).unref();

  return {
    /** Processes that serve requests, at least 1. While the store is away the last count stays. */
    get count(): number {
      return count;
    },
    /** The other processes with their last information. While the store is away they stay. */
    get others(): readonly Present[] {
      return others;
    },
    /**
     * This process's part of a whole number, at least 1. The parts of all replicas add up to `whole`, where that is no
     * less than their count.
     */
    share: (whole: number): number => Math.max(1, Math.floor(whole / count) + (rank < whole % count ? 1 : 0)),
    /** Lists this process as serving requests. The first count is known when it resolves. */
    async join(): Promise<void> {
      joined = true;
      await looking;
      await look();
    },
    /** Stops counting and, where it has joined, takes this process off the list. */
    async leave(): Promise<void> {
      stopTicks(timer);
      await looking;
      if (!joined) return;
      await presence.leave(id).catch((error: unknown) => {
        logger.debug({ err: error }, 'failed to remove this replica from the list of replicas');
      });
    },
  };
}
