import type { Logger } from 'pino';
import type { createUsage } from './usage.js';

/** At startup, restores the daily shares from stored usage: buckets of the embedded store end with the process. */
export async function recallShares(
  shares: { recall(team: string, calls: number): Promise<void> },
  usage: Pick<ReturnType<typeof createUsage>, 'daysBack' | 'read'>,
  logger: Logger,
): Promise<void> {
  try {
    const { from, to } = usage.daysBack(0);
    for (const { team, upstreamCalls } of await usage.read(from, to))
      await shares.recall(team, upstreamCalls);
  } catch (error) {
    logger.warn({ err: error }, 'failed to read the platform calls that teams have used today');
  }
}
