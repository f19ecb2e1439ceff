/**
 * The history of reports, as a port of its own: kept for as long as it is said to, never evicted. Two adapters; one
 * conformance suite (`test/store/conformance-history.ts`) holds both to what is written here.
 *
 * The store does not look into heads or contents. What is of one series and month lies together.
 */

/** What is known of one day: small, and read without its contents. */
export interface HistoryHeads {
  /** Another for each change, never 0. */
  readonly stamp: number;
  readonly heads: Buffer;
}

/** Rows of one day, as a cache entry has them. */
export interface HistoryContent {
  /** Milliseconds since the Unix epoch, rounded down; from 0 to 2^48 - 1. */
  readonly version: number;
  /** At most 255 bytes. */
  readonly header: Buffer;
  readonly body: Buffer;
  /** Kept once for all contents of a series and month that have the same bytes. */
  readonly facts: Buffer;
}

export interface HistoryWrite {
  /** ISO */
  readonly day: string;
  /** Of the heads as they were read; 0: there were none. */
  readonly stamp: number;
  readonly heads: Buffer;
  /** Contents by their names: text without a colon, never used before for this day. */
  readonly added: ReadonlyMap<string, HistoryContent>;
  readonly removed: readonly string[];
}

export interface HistoryMonth {
  readonly series: string;
  /** `2026-03` */
  readonly month: string;
}

/**
 * Every call may reject with {@link StoreUnavailable}, within the adapter's time limit. A write that did may have been
 * made all the same, or be made later.
 */
export interface HistoryStore {
  /** What all of it may take here, for other things lie beside it, bytes; null: as much as there is. */
  roomBytes(): number | null;
  /** @param days ISO. @returns in their order; null for what is absent */
  heads(series: string, days: readonly string[]): Promise<(HistoryHeads | null)[]>;
  /** @returns in the order of `wanted`; null for what is absent or damaged, be it only in part */
  contents(
    series: string,
    wanted: readonly { readonly day: string; readonly name: string }[],
  ): Promise<(HistoryContent | null)[]>;
  /**
   * Each day by itself, wholly or not at all: heads that were changed since they were read stay as they are.
   * @returns for each write whether it was made
   */
  write(series: string, writes: readonly HistoryWrite[]): Promise<boolean[]>;
  /** The oldest months first. @param after exclusive; null: from the first on */
  months(after: HistoryMonth | null, limit: number): Promise<HistoryMonth[]>;
  /** All of a series and month. */
  remove(what: HistoryMonth): Promise<void>;
}
