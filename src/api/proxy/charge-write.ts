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

export function createCharging({ reservations, brake, logger }: ChargingOptions) {
  const look = (team: string, judge: () => Charge | null) => {
    brake.check(team);
    return judge();
  };
  return {
    /**
     * The last step before a write is sent, once it has its slot: it may have waited long.
     * @param judge checks the write by the current rules, before and after the store. @returns its charge
     * @returns null for a write without a rule
     * @throws GatewayError `writes_stopped`, `write_guard_refused`, `write_guard_unavailable`; and the errors of `judge`. Then
     *   nothing is reserved
     */
    async begin(team: string, judge: () => Charge | null): Promise<Reservation | null> {
      const charge = look(team, judge);
      if (charge === null) return null;
      const reserved = await reservations.reserve({ team, ...charge });
      if (reserved.kind === 'over') throw refusal(dayCheck(charge, reserved));
      try {
        // The rules may have changed while the store worked.
        if (!isDeepStrictEqual(look(team, judge), charge)) throw guardUnavailable(CHANGED);
      } catch (error) {
        await reservations.giveBack(reserved.reservation);
        throw error;
      }
      return reserved.reservation;
    },
    /**
     * Awaited before the caller gets the platform's answer, so that every replica then shows the new budget. Takes one call of
     * the store, none while it is known to be away. Never throws: the caller must get the answer.
     */
    async end(reservation: Reservation | null, outcome: WriteOutcome): Promise<void> {
      if (reservation === null) return;
      try {
        if ('unknown' in outcome) await reservations.keepUnknown(reservation, outcome.unknown);
        else if (outcome.acted) await reservations.keep(reservation);
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

/** @param left budget of the day in millionths; below 0 if more is charged than is allowed now */
export function dayCheck(
  charge: Charge,
  { day, left }: { readonly day: string; readonly left: number },
): Check {
  const { currency } = charge;
  // Neither is null if the day has a limit.
  const [amount, max] = [charge.amount ?? 0, charge.max ?? 0];
  const limit = `at most ${showAmount(max, currency)} a day, ${showAmount(Math.max(0, left), currency)} left on ${day}`;
  return check('budget.maxPerDay', amount <= left, showAmount(amount, currency), limit);
}
