/** What of the write guard all replicas share: reservations and the brake. */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import type { Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { type BrakeLever, type BrakeOptions, createBrake } from './brake.js';
import { countUnknown, type UnknownCount } from './count-unknown.js';
import { createReservations, type ReservationBook } from './reservations.js';

export interface WriteGuardOptions extends BrakeOptions {
  readonly config: Config;
  readonly store: Pick<Store, 'charges' | 'registryLeases'>;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly nameOf: (team: string) => string;
  readonly logger: Logger;
}

export interface SharedWriteGuard {
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
