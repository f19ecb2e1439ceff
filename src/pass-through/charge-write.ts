/** What a write takes of its day: reserved just before it is sent, and settled by what became of it. */
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { CallReport } from '../platform/slot.js';
import { showAmount } from '../write-guard/amount.js';
import { type Check, check } from '../write-guard/check-write.js';
import type { Brake, Reservation, Reservations } from '../write-guard/types.js';
import { certainlyNotExecuted } from './certainly-not-executed.js';
import { refuse } from './guard-write.js';
import type { Charge } from './guarding.js';

export interface ChargingOptions {
  readonly reservations: Reservations;
  readonly brake: Brake;
  readonly logger: Logger;
}

/** Whether the platform did what it was asked for. */
export type Became = { readonly acted: boolean } | { readonly unknown: string };

export interface Charging {
  /** Looked at again when a write's turn has come: it may have waited long. @throws GatewayError as `begin` */
  checkBrake(team: string): void;
  /**
   * The last step before a write is sent.
   * @returns null where the day has no limit
   * @throws GatewayError `writes_stopped`, `write_guard_refused`, `write_guard_unavailable`
   */
  begin(team: string, charge: Charge | null): Promise<Reservation | null>;
  /** Never throws: the caller is owed the platform's answer. */
  end(reservation: Reservation | null, became: Became): Promise<void>;
}

export function createCharging({ reservations, brake, logger }: ChargingOptions): Charging {
  return {
    checkBrake: (team) => brake.check(team),
    async begin(team, charge) {
      brake.check(team);
      if (charge === null) return null;
      const { route, amount, max } = charge;
      const reserved = await reservations.reserve({ team, route, amount, max });
      if (reserved.kind === 'over') refuse([dayCheck(charge, reserved)]);
      return reserved.kind === 'over' ? null : reserved.reservation;
    },
    async end(reservation, became) {
      if (reservation === null) return;
      try {
        if ('unknown' in became) await reservations.keepUnknown(reservation, became.unknown);
        else if (became.acted) await reservations.keep(reservation);
        else await reservations.giveBack(reservation);
      } catch (error) {
        logger.error(
          { err: error },
          'what became of a guarded write could not be noted; its amount stays charged',
        );
      }
    },
  };
}

/** @param left of the day, millionths */
export function dayCheck(
  charge: Charge,
  { day, left }: { readonly day: string; readonly left: number },
): Check {
  const { amount, max, currency } = charge;
  const limit = `at most ${showAmount(max, currency)} a day, of which ${showAmount(left, currency)} are left on ${day}`;
  return check('budget.maxPerDay', amount <= left, showAmount(amount, currency), limit);
}

/**
 * By these the platform says that it does not take up the request (RFC 9110, section 15.5; RFC 6585). Of the others it
 * may have done something: 409 is said of what is there already, 424 of what came half-way.
 */
const NOT_TAKEN_UP = new Set([
  400, 401, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 428, 429, 431,
]);

/** @param status of the platform's answer */
export function becameOf(status: number): Became {
  if (status < 400) return { acted: true };
  return NOT_TAKEN_UP.has(status)
    ? { acted: false }
    : { unknown: `the platform answered with status ${status}` };
}

/** @param tries every try of the write, which ended with `error` and without an answer that was passed on */
export function becameOfFailure(error: unknown, tries: readonly CallReport[]): Became {
  if (certainlyNotExecuted(error, tries)) return { acted: false };
  return { unknown: `it ended with ${error instanceof GatewayError ? error.code : 'internal_error'}` };
}
