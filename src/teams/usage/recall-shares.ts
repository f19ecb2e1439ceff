import type { Logger } from 'pino';
import type { Usage } from './usage.js';

/**
 * Counts what teams have used today against their daily shares, at a start: the buckets of the embedded store do not
 * outlive the process, and its journal of usage does.
 */
export async function recallShares(
  shares: { recall(team: string, calls: number): Promise<void> },
  usage: Pick<Usage, 'daysBack' | 'read'>,
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
