/** Composition of reservations, brake, refusals, and the count of unknown writes. */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { type Store, StoreUnavailable } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createBrake } from './brake.js';
import { createRefusals } from './refusals.js';
import { createReservations, type ReservationBook } from './reservations.js';

export function createWriteGuard({
  config: { platform },
  store,
  registry,
  clock,
  logger,
  isGuarded,
  nameOf,
}: {
  readonly config: Config;
  readonly store: Pick<Store, 'charges' | 'documents' | 'registryLeases'>;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isGuarded: (team: string) => boolean;
  readonly nameOf: (team: string) => string;
}) {
  const reservations = createReservations({
    charges: store.charges,
    leases: store.registryLeases,
    now: clock.now,
    timezone: platform.timezone,
    callMs: platform.timeoutMs,
    logger,
    nameOf,
  });
  const brake = createBrake(registry, isGuarded);
  const refusals = createRefusals(store.documents, logger);
  return { reservations, brake, refusals, unknownWrites: countUnknown(reservations, logger) };
}

/** Short enough for an alert, and long enough for a list of thousands. */
const LOOK_MS = 30_000;

/** Counts unknown writes, for the metrics. */
export function countUnknown(book: Pick<ReservationBook, 'unknown'>, logger: Logger) {
  let last: number | null = null;
  async function look(): Promise<void> {
    try {
      last = (await book.unknown()).length;
    } catch (error) {
      last = null;
      if (!(error instanceof StoreUnavailable))
        logger.error({ err: error }, 'failed to count writes of unknown outcome');
    }
  }
  const looking = repeat(LOOK_MS, look);
  looking.now();
  return {
    /** As of the last look; null: none yet, or without the store. */
    count: (): number | null => last,
    /** Never rejects. */
    look,
    stop: looking.stop,
  };
}
