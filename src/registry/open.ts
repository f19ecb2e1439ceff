/** The registry as a process starts with it: loaded, in the present form, its clock followed. */
import type { Logger } from 'pino';
import type { MovableClock } from '../clock.js';
import { sleep } from '../time.js';
import { openRegistry, type Registry, type RegistryOptions } from './replica.js';
import { migrateRegistry } from './schema.js';
import { followSharedClock, type SharedClock } from './shared-clock.js';

export interface OpenedRegistry {
  readonly registry: Registry;
  /** Set where the clock may be moved. */
  readonly sharedClock: SharedClock | null;
  /** Runs `work` when another registry has taken the place of the one known. @param failed said when it fails */
  onAnotherRegistry(failed: string, work: () => Promise<void>): void;
}

export interface OpenOptions extends RegistryOptions {
  readonly clock: MovableClock;
  /** Whether the clock may be moved. */
  readonly testClock: boolean;
}

/** @throws StoreUnavailable; StoreRefused when the records are of a newer release */
export async function openPresentRegistry({ testClock, ...options }: OpenOptions): Promise<OpenedRegistry> {
  const { clock, logger } = options;
  const registry = await openRegistry(options);
  await migrateRegistry(registry, { clock, logger });
  return {
    registry,
    sharedClock: testClock ? followSharedClock(registry, clock) : null,
    onAnotherRegistry: (failed, work) => onAnotherRegistry(registry, logger, failed, work),
  };
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** Runs `work` for each further registry until it succeeds, or yet another registry has come. */
function onAnotherRegistry(
  registry: Registry,
  logger: Logger,
  failed: string,
  work: () => Promise<void>,
): void {
  async function run(): Promise<void> {
    const { epoch } = registry;
    for (let waitMs = FIRST_WAIT_MS; registry.epoch === epoch; waitMs = Math.min(2 * waitMs, MOST_WAIT_MS)) {
      try {
        return await work();
      } catch (error) {
        logger.error({ err: error }, `${failed} in the registry that was taken over; trying again`);
      }
      await sleep(waitMs, { ref: false });
    }
  }

  registry.onAnother(() => void run());
}
