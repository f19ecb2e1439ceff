/** Reserves the budget of a write just before it is sent, and settles it by the outcome. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { showAmount } from '../../teams/write-guard/amount.js';
import type { Brake } from '../../teams/write-guard/brake.js';
import { type Check, check } from '../../teams/write-guard/check-write.js';
import {
  guardUnavailable,
  type Reservation,
  type Reservations,
} from '../../teams/write-guard/reservations.js';
import { refusal } from './guard-write.js';
import type { Charge } from './passage.js';
import type { WriteOutcome } from './write-outcome.js';

export interface ChargingOptions {
  readonly reservations: Reservations;
  readonly brake: Brake;
  readonly logger: Logger;
}

export type Charging = ReturnType<typeof createCharging>;

export function createCharging({ reservations, brake, logger }: ChargingOptions) {
  const look = (team: string, judge: () => Charge | null) => {
    brake.check(team);
    return judge();
  };
  return {
    /**
     * The last step before a write is sent, when it has its slot: it may have waited long.
     * @param judge whether it may be sent by what holds now, and what it takes of its day; asked before and after the store
     * @returns null for a write that no rule is for
     * @throws GatewayError `writes_stopped`, `write_guard_refused`, `write_guard_unavailable`; whatever `judge` throws; then
     *   nothing is reserved
     */
    async begin(team: string, judge: () => Charge | null): Promise<Reservation | null> {
      const charge = look(team, judge);
      if (charge === null) return null;
      const reserved = await reservations.reserve({ team, ...charge });
      if (reserved.kind === 'over') throw refusal(dayCheck(charge, reserved));
      try {
        // The store may have taken its time.
        if (!isDeepStrictEqual(look(team, judge), charge)) throw guardUnavailable(CHANGED);
      } catch (error) {
        await reservations.giveBack(reserved.reservation);
        throw error;
      }
      return reserved.reservation;
    },
    /**
     * Never throws: the caller is owed the platform's answer. It is awaited before that is given: whoever has it finds the
     * day and the list as they are, on every replica. That takes one call of the store, and none while it is known to be away.
     */
    async end(reservation: Reservation | null, became: WriteOutcome): Promise<void> {
      if (reservation === null) return;
      try {
        if ('unknown' in became) await reservations.keepUnknown(reservation, became.unknown);
        else if (became.acted) await reservations.keep(reservation);
        else await reservations.giveBack(reservation);
      } catch (error) {
        logger.error(
          { err: error },
          'could not record the outcome of a guarded write; its budget stays reserved',
        );
      }
    },
  };
}

const CHANGED =
  "The team's write guard changed while this write was checked. Nothing was sent; send it again.";

/** @param left of the day, millionths; below 0 where more is charged than it allows now */
export function dayCheck(
  charge: Charge,
  { day, left }: { readonly day: string; readonly left: number },
): Check {
  const { currency } = charge;
  // Both are there wherever a day has a limit.
  const [amount, max] = [charge.amount ?? 0, charge.max ?? 0];
  const limit = `at most ${showAmount(max, currency)} a day, ${showAmount(Math.max(0, left), currency)} left on ${day}`;
  return check('budget.maxPerDay', amount <= left, showAmount(amount, currency), limit);
}
