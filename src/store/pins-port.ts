/**
 * Pins: per owner one index and a body for each pin, never evicted. The store does not parse their bytes. The conformance suite
 * is `test/store/conformance-pins.ts`.
 */

/** Null: absent. Damaged: not the bytes that were written in this place; they are never returned. */
export type PinBytes = Buffer | 'damaged' | null;

export interface PinsRead {
  /** Of the index: changes with each write. 0: there is none. */
  readonly stamp: number;
  readonly index: PinBytes;
  /** In the order of the names. */
  readonly bodies: readonly PinBytes[];
}

export interface PinsWrite {
  /** The stamp that was read; 0: none. */
  readonly stamp: number;
  readonly index: Buffer;
  /** By name, replaced where present. */
  readonly added: ReadonlyMap<string, Buffer>;
  readonly removed: readonly string[];
}

/**
 * Every call may reject with {@link StoreUnavailable}, within the time limit. Such a write may have been made, or be made
 * later; after `no-room` it was not. A write without bodies needs no room.
 */
export interface PinStore {
  /** Index and bodies of one moment. */
  read(owner: string, names?: readonly string[]): Promise<PinsRead>;
  /** Writes index and bodies, all or nothing. @returns whether the stamp was still the one that was read */
  write(owner: string, write: PinsWrite): Promise<boolean>;
  /** Owners with an index, each once, in an order of the store. @param after exclusive; null: from the first on */
  list(after: string | null, limit: number): Promise<string[]>;
  /** Index and bodies of an owner. */
  remove(owner: string): Promise<void>;
}
