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

// Pins as earlier releases wrote them: an index and rows for each owner. Nothing adds to them.

export interface OldPinIndex {
  /** Changes with each write; never 0. */
  readonly stamp: number;
  readonly bytes: Buffer;
}

/** Rows in the form of `src/reports/history/old-pin-bytes.ts`. */
export interface OldPinRows {
  /** Epoch milliseconds. */
  readonly version: number;
  readonly header: Buffer;
  readonly body: Buffer;
  /** Stored once for all rows of an owner with equal bytes. */
  readonly facts: Buffer;
}

/** Every call may reject with {@link StoreUnavailable}. Such a write may have been made, or be made later. */
export interface OldPinStore {
  index(owner: string): Promise<OldPinIndex | null>;
  /** @returns in the order of `names`; null for what is absent or damaged, even in part */
  rows(owner: string, names: readonly string[]): Promise<(OldPinRows | null)[]>;
  /** Replaces the index, and removes rows by name, if the index still has its stamp. @returns whether it had */
  write(owner: string, index: OldPinIndex, removed: readonly string[]): Promise<boolean>;
  /** @param after exclusive; null: from the first on */
  owners(after: string | null, limit: number): Promise<string[]>;
  /** All of an owner. */
  remove(owner: string): Promise<void>;
}

const DIGEST_AT = 7;
const HEADER_AT = 23;

/**
 * @param bytes version (6, big endian) · length of the header (1) · digest of the facts (16) · header · body
 * @returns `digest`: hexadecimal; null for bytes of another form
 */
export function readOldRows(bytes: Buffer | null) {
  if (bytes === null || bytes.length < HEADER_AT) return null;
  const bodyAt = HEADER_AT + (bytes[6] as number);
  if (bytes.length < bodyAt) return null;
  return {
    digest: bytes.toString('hex', DIGEST_AT, HEADER_AT),
    version: bytes.readUIntBE(0, 6),
    header: bytes.subarray(HEADER_AT, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}
