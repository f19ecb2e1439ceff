/**
 * Amounts charged to budgets ("purses"). As durable as the registry, and never leased or batched: a charge made twice
 * or lost is money. The conformance suite is `test/store/conformance-charges.ts`.
 */
/** An open charge. */
export interface Charge {
  /** Unique for ever. */
  readonly id: string;
  /** Text without a line break, else a RangeError. */
  readonly purse: string;
  /** A safe integer, 0 or more, else a RangeError. */
  readonly amount: number;
  /** At most {@link NOTE_MAX_BYTES} of UTF-8, else a RangeError. */
  readonly note: string;
}

export interface ChargeAsk extends Charge {
  /** Most that the purse may have, including this charge: a safe integer, 0 or more, else a RangeError. */
  readonly max: number;
  /** The purse is emptied so long, in real time, after its last charge; at least 1 ms, else a RangeError. */
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

/** Longest note, bytes. */
export const NOTE_MAX_BYTES = 2048;
/** Most open charges; more are refused with `no-room`. */
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
  /** Gives an open charge another note. @returns whether it was open */
  note(id: string, note: string): Promise<boolean>;
  /**
   * Ends a charge: the amount stays, or goes back to the purse if that still exists. The id is remembered for 10
   * minutes of real time, also an unknown one, so that a late charge with it is not made.
   * @returns whether it was open
   */
  end(id: string, how: 'kept' | 'back'): Promise<boolean>;
  /** @returns the total of a purse */
  charged(purse: string): Promise<number>;
  /** @returns all open charges, in no particular order */
  open(): Promise<Charge[]>;
}
