/** What of the write guard all replicas share: reservations and the brake. */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { type Store, StoreUnavailable } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { type BrakeLever, type BrakeOptions, createBrake } from './brake.js';
import { createReservations, type ReservationBook } from './reservations.js';

// How many guarded writes of unknown outcome wait to be settled, for the metrics.

/** Often enough for an alert, and seldom enough for a list of thousands. */
const LOOK_MS = 30_000;

export interface UnknownCount {
  /** As of the last look; null before the first, and while the store cannot tell. */
  count(): number | null;
  /** Looks now. Never rejects. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

export function countUnknown(book: Pick<ReservationBook, 'unknown'>, logger: Logger): UnknownCount {
  let last: number | null = null;
  async function look(): Promise<void> {
    try {
      last = (await book.unknown()).length;
    } catch (error) {
      last = null;
      if (!(error instanceof StoreUnavailable))
        logger.error({ err: error }, 'writes of unknown outcome could not be counted');
    }
  }
  const looking = repeat(LOOK_MS, look);
  looking.now();
  return { count: () => last, look, stop: looking.stop };
}

interface WriteGuardOptions extends BrakeOptions {
  readonly config: Config;
  readonly store: Pick<Store, 'charges' | 'registryLeases'>;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly nameOf: (team: string) => string;
  readonly logger: Logger;
}

interface SharedWriteGuard {
  readonly reservations: ReservationBook;
  readonly brake: BrakeLever;
  readonly unknownWrites: UnknownCount;
}

export function createWriteGuard(options: WriteGuardOptions): SharedWriteGuard {
  const { store, clock, logger, nameOf } = options;
  const { timezone, timeoutMs: callMs } = options.config.platform;
  const shared = { charges: store.charges, leases: store.registryLeases };
  const reservations = createReservations({ ...shared, now: clock.now, timezone, callMs, logger, nameOf });
  return {
    reservations,
    brake: createBrake(options),
    unknownWrites: countUnknown(reservations, logger),
  };
}
