/**
 * What the write guard's parts are to each other: the checks ask `Reservations` for what a rule allows a day, and `Brake`
 * whether anything may be written at all.
 */
import { GatewayError } from '../../errors.js';

/** Amounts are whole numbers of millionths of a rule's currency. */
export const MILLIONTHS = 1_000_000;

export interface ReserveAsk {
  readonly team: string;
  /** E.g. `POST /api/v1/campaign/create`. */
  readonly route: string;
  /** Millionths of the rule's currency, a safe integer; null where the rule has no budget. */
  readonly amount: number | null;
  /** The same unit: what the rule allows a day; null: as much as anybody likes. */
  readonly max: number | null;
  readonly currency?: string | undefined;
}

export interface Reservation {
  readonly id: string;
  /** While the write is under way in the life it was reserved in, as `nameInLife` writes it; its id where it is listed. */
  readonly team: string;
  readonly route: string;
  /** The day it is taken from, e.g. `2026-11-23`, by `platform.timezone`. */
  readonly day: string;
  /** null where the rule has no budget. */
  readonly amount: number | null;
  /** null where the rule names none. */
  readonly currency: string | null;
  readonly atMs: number;
}

/** `left` is what the day still allows, in the unit of the ask; below 0 where the limit was made smaller since. */
export type Reserved =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'over'; readonly day: string; readonly left: number };

export interface Reservations {
  /**
   * Atomically and durably, before anything is sent; also where the day has no limit, so that what became of it can be
   * told. @throws GatewayError `write_guard_unavailable`
   */
  reserve(ask: ReserveAsk): Promise<Reserved>;
  /** The platform certainly did not act: back to the day it was taken from. */
  giveBack(reservation: Reservation): Promise<void>;
  /** The platform answered that it acted. */
  keep(reservation: Reservation): Promise<void>;
  /** Unknown what became of it: stays charged, is listed until settled. */
  keepUnknown(reservation: Reservation, why: string): Promise<void>;
  /** As {@link Reserved} tells it. @throws GatewayError `write_guard_unavailable` */
  left(team: string, route: string, max: number): Promise<{ readonly day: string; readonly left: number }>;
}

export interface Brake {
  /** @throws GatewayError `writes_stopped` when stopped for all or this team, `write_guard_unavailable` when its state is older than 2 s */
  check(team: string): void;
}

/** @param detail what cannot be known, for the caller */
export function guardUnavailable(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('write_guard_unavailable', { detail, retryAfterS: 5, cause });
}
