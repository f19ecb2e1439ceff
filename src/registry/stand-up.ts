/** What a start makes in a registry, made again when another registry has taken its place: without a restart. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from './replica.js';

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

export interface StandUpOptions {
  readonly registry: Pick<Registry, 'epoch' | 'onAnother'>;
  readonly logger: Logger;
  /** Said when it fails, e.g. `the teams of the file could not be declared`. */
  readonly failed: string;
}

/** Runs `work` for each further registry until it succeeds, or yet another registry has come. */
export function onAnotherRegistry(options: StandUpOptions, work: () => Promise<void>): void {
  const { registry, logger, failed } = options;

  async function run(): Promise<void> {
    const { epoch } = registry;
    for (let waitMs = FIRST_WAIT_MS; registry.epoch === epoch; waitMs = Math.min(2 * waitMs, MOST_WAIT_MS)) {
      try {
        return await work();
      } catch (error) {
        logger.error({ err: error }, `${failed} in the registry that was taken over; trying again`);
      }
      await sleep(waitMs, undefined, { ref: false });
    }
  }

  registry.onAnother(() => void run());
}
