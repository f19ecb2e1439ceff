/** Reservations of a day as the program's own, without a store: for tests of what asks for them. */
import {
  guardUnavailable,
  type Reservation,
  type Reservations,
  type ReserveAsk,
} from '../../src/teams/write-guard/reservations.js';

export interface InMemoryReservations extends Reservations {
  /** What became of each reservation, in the order in which it did. */
  readonly ends: {
    readonly end: 'back' | 'kept' | 'unknown';
    readonly reservation: Reservation;
    readonly why?: string;
  }[];
  /** Charged now, over all days. */
  charged(team: string, route: string): number;
  /** From now on it cannot be asked. */
  away: boolean;
}

/** @param day of all reservations */
export function reservationsInMemory(day = '2026-11-23'): InMemoryReservations {
  const held = new Map<string, Reservation>();
  let made = 0;
  const charged = (team: string, route: string) =>
    [...held.values()]
      .filter((one) => one.team === team && one.route === route)
      .reduce((sum, { amount }) => sum + (amount ?? 0), 0);
  const self: InMemoryReservations = {
    ends: [],
    away: false,
    charged,
    async reserve({ team, route, amount, max, currency }: ReserveAsk) {
      if (self.away) throw guardUnavailable('The store cannot be reached; nothing was sent.');
      const left = (max ?? Number.POSITIVE_INFINITY) - charged(team, route);
      if ((amount ?? 0) > left) return { kind: 'over', day, left };
      made += 1;
      const of = { team, route, day, amount, currency: currency ?? null };
      const reservation = { id: `r${made}`, ...of, atMs: 0 };
      held.set(reservation.id, reservation);
      return { kind: 'reserved', reservation };
    },
    async giveBack(reservation) {
      held.delete(reservation.id);
      self.ends.push({ end: 'back', reservation });
    },
    async keep(reservation) {
      self.ends.push({ end: 'kept', reservation });
    },
    async keepUnknown(reservation, why) {
      self.ends.push({ end: 'unknown', reservation, why });
    },
    async left(team, route, max) {
      return { day, left: max - charged(team, route) };
    },
  };
  return self;
}
