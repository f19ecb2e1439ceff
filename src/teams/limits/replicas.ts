/** The serving processes, and this one's part of a limit. In real time, not by the movable clock. */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';
import type { Presence, Present } from '../../store/port.js';

export type Replicas = ReturnType<typeof createReplicas>;

export interface ReplicasOptions {
  readonly presence: Presence;
  readonly logger: Logger;
  /** Of this process; default: random. */
  readonly id?: string;
  /** Published by this process with each beat. */
  readonly info?: () => string;
  /** The store did not answer a beat. */
  readonly onAway?: () => void;
  readonly beatMs?: number;
  /** How long a killed process is counted. */
  readonly lapseMs?: number;
}

export function createReplicas(options: ReplicasOptions) {
  const { presence, logger, beatMs = 1000, lapseMs = 5000 } = options;
  const { id = randomId(), info = () => String(process.pid), onAway = () => {} } = options;
  let joined = false;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let [count, rank] = [1, 0];
  let others: readonly Present[] = [];

  async function look(): Promise<void> {
    try {
      if (joined) await presence.beat(id, info(), lapseMs);
      const all = await presence.list();
      const ids = all.map((one) => one.id);
      // A store that is back lists a replica only once that has reached it.
      const justBack = uptimeMs() - failedAtMs < lapseMs;
      if (justBack && others.some((one) => !ids.includes(one.id))) return;
      others = all.filter((one) => one.id !== id);
      count = Math.max(1, ids.length);
      rank = Math.max(0, ids.indexOf(id));
    } catch (error) {
      failedAtMs = uptimeMs();
      onAway();
      logger.debug({ err: error }, 'failed to count the replicas; keeping the last count');
    }
  }

  let looking = look();
  const timer = startTicks(() => {
    looking = look();
  }, beatMs).unref();

  return {
    /** Serving processes, at least 1. Without the store, the last count. */
    get count(): number {
      return count;
    },
    /** The other processes with their last information. Without the store, the last list. */
    get others(): readonly Present[] {
      return others;
    },
    /** This process's part of `whole`, at least 1. The parts add up to `whole`, if that is at least the number of replicas. */
    share: (whole: number): number => Math.max(1, Math.floor(whole / count) + (rank < whole % count ? 1 : 0)),
    /** Lists this process as serving. Resolves after the first count. */
    async join(): Promise<void> {
      joined = true;
      await looking;
      await look();
    },
    /** Stops counting, and removes this process from the list if it has joined. */
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
