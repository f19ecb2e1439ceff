/**
 * Amounts charged to budgets ("purses"). As durable as the registry, and never leased or batched: a charge that is lost or
 * made twice costs money. The conformance suite is `test/store/conformance-charges.ts`.
 */

export interface Charge {
  /** Never used again. */
  readonly id: string;
  /** Text without a line break, else a RangeError. */
  readonly purse: string;
  /** A safe integer, 0 or more, else a RangeError. */
  readonly amount: number;
  /** At most {@link NOTE_MAX_BYTES} of UTF-8, else a RangeError. */
  readonly note: string;
}

export interface ChargeAsk extends Charge {
  /** Maximum total of the purse, including this charge: a safe integer, 0 or more, else a RangeError. */
  readonly max: number;
  /** Real time after the last charge until the purse is emptied; at least 1 ms, else a RangeError. */
  readonly ttlMs: number;
}

/** `charged`: the purse's total afterwards. */
export type ChargeAnswer =
  | {
      readonly kind: 'made';
      readonly charged: number;
      /** Fewer replicas than wanted have confirmed it: it could be lost with the server. */
      readonly unconfirmed?: { readonly replicas: number; readonly wanted: number };
    }
  | { readonly kind: 'over'; readonly charged: number }
  /** This id was ended, maybe before the charge arrived: nothing is charged. */
  | { readonly kind: 'ended'; readonly charged: number };

export const NOTE_MAX_BYTES = 2048;
/** More are refused with `no-room`. */
export const OPEN_CHARGES_MAX = 10_000;

/**
 * Each call is atomic. After `StoreUnavailable` a change may have been made, or be made later: repeat the call, or
 * end the charge. After one with `no-room` it was not made.
 */
export interface Charges {
  /**
   * Charges, unless the purse would exceed `max`. The charge stays open until it is ended. An open charge is not
   * charged again, and reported as made.
   */
  charge(ask: ChargeAsk): Promise<ChargeAnswer>;
  /** Replaces the note of an open charge. @returns whether it was open */
  note(id: string, note: string): Promise<boolean>;
  /**
   * Ends a charge: the amount stays, or is returned to the purse if that still exists. The id, also an unknown one, is
   * remembered for 10 minutes of real time, so that a late charge with it is not made.
   * @returns whether it was open
   */
  end(id: string, how: 'kept' | 'back'): Promise<boolean>;
  /** The total of a purse. */
  charged(purse: string): Promise<number>;
  /** All open charges, unordered. */
  open(): Promise<Charge[]>;
}
