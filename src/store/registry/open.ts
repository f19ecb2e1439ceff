/** The registry as a process starts with it: loaded, in the present form, its clock followed. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { MovableClock } from '../../lib/clock.js';
import { recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { openRegistry, type Registry, type RegistryOptions } from './replica.js';
import { migrateRegistry } from './schema.js';
import { updateRecord } from './update-record.js';

/**
 * @param options testClock: whether the clock may be moved
 * @throws StoreUnavailable; StoreRefused when the records are of a newer release
 */
export async function openPresentRegistry(
  options: RegistryOptions & { readonly clock: MovableClock; readonly testClock: boolean },
) {
  const { clock, logger, testClock } = options;
  const registry = await openRegistry(options);
  await migrateRegistry(registry, clock, logger);
  return {
    registry,
    /** Null where the clock must not be moved. */
    sharedClock: testClock ? followSharedClock(registry, clock) : null,
    /** Runs `work` when another registry has taken the place of the one known. @param failed logged when it fails */
    onAnotherRegistry: (failed: string, work: () => Promise<void>) =>
      registry.onAnother(() => void retryFor(registry, logger, failed, work)),
  };
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** Runs `work` until it succeeds, or yet another registry has come. */
async function retryFor(
  registry: Registry,
  logger: Logger,
  failed: string,
  work: () => Promise<void>,
): Promise<void> {
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

const CLOCK_RECORD = 'clock';
const ClockRecord = recordForm(Type.Object({ offsetMs: Type.Number() }));

export type SharedClock = ReturnType<typeof followSharedClock>;

/**
 * The test clock of all replicas: an offset in the registry, followed by every process from now on. To be used only where
 * `GATEWAY_TEST_CLOCK` allows it.
 */
export function followSharedClock(registry: Registry, clock: MovableClock) {
  const follow = () => {
    const text = registry.get(CLOCK_RECORD)?.value;
    clock.moveTo(text === undefined ? 0 : ClockRecord.read(text, CLOCK_RECORD).offsetMs);
  };
  follow();
  registry.onChange(CLOCK_RECORD, follow);
  return {
    /** @param audit a line stored with it */
    moveTo: (offsetMs: number, audit: string): Promise<void> =>
      updateRecord(registry, CLOCK_RECORD, (text) => {
        const before = text === null ? null : ClockRecord.read(text, CLOCK_RECORD);
        return { text: JSON.stringify({ ...before, offsetMs }), audit: [audit] };
      }),
  };
}
