/** What the credential needs now and then, without anybody asking: each job in its turn, none twice at once. */
import type { Logger } from 'pino';

export interface Upkeep {
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

export interface UpkeepOptions {
  /** By name, for the log. */
  readonly jobs: Readonly<Record<string, () => Promise<void>>>;
  readonly logger: Logger;
  readonly everyMs?: number;
}

export function startUpkeep({ jobs, logger, everyMs = 1000 }: UpkeepOptions): Upkeep {
  const failing = new Set<string>();
  let running: Promise<void> | null = null;
  let stopped = false;

  /** A fault is told once, until the job is well again: a store that is away must not fill the log. */
  async function run(name: string, job: () => Promise<void>): Promise<void> {
    try {
      await job();
      failing.delete(name);
    } catch (error) {
      if (!failing.has(name) && !stopped)
        logger.error({ err: error, job: name }, 'upkeep of the credential failed');
      failing.add(name);
    }
  }

  async function round(): Promise<void> {
    for (const [name, job] of Object.entries(jobs)) if (!stopped) await run(name, job);
  }

  const timer = setInterval(() => {
    running ??= round().finally(() => {
      running = null;
    });
  }, everyMs);
  timer.unref();

  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
