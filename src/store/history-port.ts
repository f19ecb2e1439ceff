/**
 * The history of reports: never evicted. The store does not parse heads or contents; those of one series and month
 * are stored together. The conformance suite is `test/store/conformance-history.ts`.
 */

/** Summary of one day: small, and read without its contents. */
export interface HistoryHeads {
  /** Changes with each write; never 0. */
  readonly stamp: number;
  readonly heads: Buffer;
  /** Earlier heads, where a previous release could not read them and has begun new ones. A write replaces both. */
  readonly beside?: Buffer;
}

/** Rows of one day, as in a cache entry. */
export interface HistoryContent {
  /** Epoch milliseconds, rounded down; from 0 to 2^48 - 1. */
  readonly version: number;
  /** At most 255 bytes. */
  readonly header: Buffer;
  readonly body: Buffer;
  /** Stored once for all contents of a series and month with equal bytes. */
  readonly facts: Buffer;
}

export interface HistoryWrite {
  /** ISO */
  readonly day: string;
  /** The stamp of the heads that were read; 0: none. */
  readonly stamp: number;
  readonly heads: Buffer;
  /** By name: text without a colon, never used before for this day. */
  readonly added: ReadonlyMap<string, HistoryContent>;
  readonly removed: readonly string[];
}

export interface HistoryMonth {
  readonly series: string;
  /** `2026-03` */
  readonly month: string;
}

/**
 * Every call may reject with {@link StoreUnavailable}, within the time limit. Such a write may have been made, or be made
 * later.
 */
export interface HistoryStore {
  /** Whether contents of several days with one name are compressed together; small bodies should then be plain. */
  readonly packs?: true;
  /** Limit of the history's size in a store with other data, bytes; null: no limit. */
  roomBytes(): number | null;
  /** @param days ISO. @returns in their order; null for what is absent */
  heads(series: string, days: readonly string[]): Promise<(HistoryHeads | null)[]>;
  /** @returns in the order of `wanted`; null for what is absent or damaged, even in part */
  contents(
    series: string,
    wanted: readonly { readonly day: string; readonly name: string }[],
  ): Promise<(HistoryContent | null)[]>;
  /**
   * Writes each day by itself, all or nothing. A day whose heads have changed since they were read stays.
   * @returns for each write whether it was made
   */
  write(series: string, writes: readonly HistoryWrite[]): Promise<boolean[]>;
  /** The oldest months first. @param after exclusive; null: from the first on */
  months(after: HistoryMonth | null, limit: number): Promise<HistoryMonth[]>;
  /** All of a series and month. */
  remove(what: HistoryMonth): Promise<void>;
}
