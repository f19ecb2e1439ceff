/** What the credential needs now and then, without anybody asking: each job in its turn, none twice at once. */
import type { Logger } from 'pino';
import { type Repeated, repeat } from '../../lib/repeat.js';

export interface UpkeepOptions {
  /** By name, for the log. */
  readonly jobs: Readonly<Record<string, () => Promise<void>>>;
  readonly logger: Logger;
  readonly everyMs?: number;
}

export function startUpkeep({ jobs, logger, everyMs = 1000 }: UpkeepOptions): Pick<Repeated, 'stop'> {
  const failing = new Set<string>();
  return repeat(everyMs, async (isStopped) => {
    for (const [name, job] of Object.entries(jobs)) {
      if (isStopped()) return;
      try {
        await job();
        failing.delete(name);
      } catch (error) {
        // A fault is told once, until the job is well again: a store that is away must not fill the log.
        if (!failing.has(name) && !isStopped())
          logger.error({ err: error, job: name }, 'upkeep of the credential failed');
        failing.add(name);
      }
    }
  });
}
