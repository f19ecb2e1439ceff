/**
 * What is charged to purses, as a port of its own: durable as the registry is, and never leased or batched, for what is
 * charged twice or not at all is money. Two adapters; one conformance suite (`test/store/conformance-charges.ts`) holds
 * both to what is written here.
 *
 * The store does not look into the names of purses, nor into notes.
 */
/** A charge as it is kept while it is open. */
export interface Charge {
  /** Given to no other charge, ever. */
  readonly id: string;
  /** What it is charged to: text without a line break, else a RangeError. */
  readonly purse: string;
  /** A safe integer, 0 or more, else a RangeError. */
  readonly amount: number;
  /** At most {@link NOTE_MAX_BYTES} of UTF-8, else a RangeError. */
  readonly note: string;
}

export interface ChargeAsk extends Charge {
  /** What may be charged to the purse with this charge, all together: a safe integer, 0 or more, else a RangeError. */
  readonly max: number;
  /** The purse is empty so long, in real time, after the last charge to it; of at least 1 ms, else a RangeError. */
  readonly ttlMs: number;
}

/** `charged`: what is charged to the purse afterwards. */
export type ChargeAnswer =
  | {
      readonly kind: 'made';
      readonly charged: number;
      /** It could be lost with the server: fewer replicas than wanted have confirmed it. */
      readonly unconfirmed?: { readonly replicas: number; readonly wanted: number };
    }
  | { readonly kind: 'over'; readonly charged: number }
  /** A charge of this id has ended, or was ended before it came: nothing is charged. */
  | { readonly kind: 'ended'; readonly charged: number };

/** The longest note, in bytes. */
export const NOTE_MAX_BYTES = 2048;
/** How many charges may be open at a time; more are refused with `no-room`. */
export const OPEN_CHARGES_MAX = 10_000;

/**
 * Each call is one step, all or nothing. After `StoreUnavailable` a change may have been made all the same, or may
 * be made later; after one with `no-room` it was not. Whoever got one repeats the call, or ends the charge.
 */
export interface Charges {
  /**
   * Charges, unless more than `max` would then be charged to the purse. The charge is open until it is ended, however
   * long that takes.
   * One that is open already is told as made, and charged no second time.
   */
  charge(ask: ChargeAsk): Promise<ChargeAnswer>;
  /** Gives an open charge another note. @returns whether it was open */
  note(id: string, note: string): Promise<boolean>;
  /**
   * Ends a charge: it stays charged, or is taken off its purse, should that be there yet.
   * That it has ended is remembered for 10 minutes of real time, also of one that is not known: should it still be under
   * way, it is not made.
   * @returns whether it was open
   */
  end(id: string, how: 'kept' | 'back'): Promise<boolean>;
  /** @returns what is charged to a purse */
  charged(purse: string): Promise<number>;
  /** @returns all that are open, in no particular order */
  open(): Promise<Charge[]>;
}
