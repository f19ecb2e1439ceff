/**
 * The days of reports: cache and history in one place. The unit is a month of a series: an index, which a write replaces by
 * compare-and-set; earlier revisions of days; and parts, the rows of an answer, which never change. The store does not parse
 * any of them. Nothing is evicted. docs/architecture.md describes the model; the conformance suite is
 * `test/store/conformance-days.ts`.
 */
import type { Told } from './changes-port.js';

export interface MonthPlace {
  /** Text without control characters. */
  readonly series: string;
  /** `2026-03` */
  readonly month: string;
}

export interface WantedMonth {
  readonly month: string;
  /** Days of the month, from 1: their parts are read along, if they are small. */
  readonly days: readonly number[];
  /** Also their earlier revisions, as they are with this index. */
  readonly withEarlier?: true;
}

export interface StoredMonth {
  /** Changes with each write; never 0. */
  readonly stamp: number;
  /** Null: damaged. */
  readonly index: Buffer | null;
  /** Parts of the wanted days, by name: those that were read along, and are not damaged. */
  readonly parts: ReadonlyMap<string, Buffer>;
  /** By day: earlier revisions, if they were wanted; null: damaged. */
  readonly earlier: ReadonlyMap<number, Buffer | null>;
}

export interface MonthWrite extends MonthPlace {
  /** Of the month that was read; 0: there was none. */
  readonly stamp: number;
  readonly index: Buffer;
  /** The largest {@link Claimed.order} that the index tells; 0: none. */
  readonly order: number;
  /** By day, from 1 to 31: the part that a read of the day brings along. At most {@link PARTS_MAX} different ones. */
  readonly named: ReadonlyMap<number, PartRef>;
  /** By name: at most 60 characters of `[a-z0-9-]`, never used before in this month. */
  readonly parts: ReadonlyMap<string, Buffer>;
  /** By day; null removes. */
  readonly earlier: ReadonlyMap<number, Buffer | null>;
  /** Names of parts to remove. */
  readonly dropped: readonly string[];
  /**
   * Milliseconds until the month ends by itself, at least 1; null: it does not end. An end is never brought nearer, and a month
   * without an end keeps none.
   */
  readonly ttlMs: number | null;
  /** `ttlMs` is the end of the month, although it had a later one, or none. */
  readonly isEnding?: true;
  /** It removes more than it adds, and is made although the store has no room. */
  readonly isRemoval?: true;
  /** Locks of the series that end with the write, and a message that follows it; neither if the write is not made. */
  readonly release?: Release;
  /** Appended to the feed of changes in the same step; not if the write is not made. */
  readonly told?: Told;
}

export interface PartRef {
  readonly name: string;
  readonly bytes: number;
}

export interface Release {
  readonly owner: string;
  readonly names: readonly string[];
  readonly news?: { readonly channel: string; readonly message: string };
}

/** Null: written. Else the month that is stored now, with earlier revisions of the days of `earlier`; `none`: there is none. */
export type Written = null | StoredMonth | 'none';

/** All of a month, under one stamp. */
export interface WholeMonth {
  readonly stamp: number;
  readonly index: Buffer | null;
  /** By day; null: damaged. */
  readonly earlier: ReadonlyMap<number, Buffer | null>;
  /** Stored bytes of all parts by name, whether or not the index names them. */
  readonly parts: ReadonlyMap<string, number>;
}

/** Of the servers of days that limit their memory, as last reported. */
export interface DaysRoom {
  /** Of all together. */
  readonly maxBytes: number;
  /** What all data on the fullest one takes beyond 85 %: then no earlier states of days are kept. Less than 0: not so much. */
  readonly excessBytes: number;
}

export interface Claim {
  readonly owner: string;
  /** Locks of the series. */
  readonly names: readonly string[];
  readonly leaseMs: number;
  /** Months that were read before, with their stamps (0: none), and the days to be fetched. */
  readonly known: readonly (Omit<WantedMonth, 'withEarlier'> & { readonly stamp: number })[];
}

export interface Claimed {
  /** For each name whether `owner` holds it now. A full store grants without a lock. */
  readonly held: readonly boolean[];
  /**
   * The order of fetches: microseconds since the epoch by the clock of the store, but above that of each known month, unless a
   * month is {@link ORDER_LEAD_MAX_US} ahead of that clock: then its order was given by a wrong one.
   */
  readonly order: number;
  /** The clock of the store, microseconds since the epoch. */
  readonly clockUs: number;
  /** Months that have another stamp than the known one, by month; null: there is none any more. */
  readonly changed: ReadonlyMap<string, StoredMonth | null>;
  /** Earlier revisions of the days of all known months, by month and day; null: damaged. */
  readonly earlier: ReadonlyMap<string, StoredMonth['earlier']>;
}

/** After a failover the clock may be behind: orders must grow all the same. */
export const ORDER_LEAD_MAX_US = 5 * 60_000_000;

/** An order five minutes ahead of the clock of the store was given by a wrong one: it is before all others. */
export const countedOrder = (order: number, clockUs: number): number =>
  order > clockUs + ORDER_LEAD_MAX_US ? 0 : order;

/** Parts that an index may name for its days. */
export const PARTS_MAX = 62;

/** Every call may reject with {@link StoreUnavailable}, within the time limit. */
export interface DaysStore {
  /**
   * Reads months of one series, in one trip if their parts are small. Needs no room in the store.
   * @param after a call of this store for the same series, begun just before: the read sees its effects, however it ends
   * @returns in the order of `wanted`; null for absent ones
   */
  read(
    series: string,
    wanted: readonly WantedMonth[],
    after?: Promise<unknown>,
  ): Promise<(StoredMonth | null)[]>;
  /** @returns by name; absent and damaged ones are left out */
  parts(place: MonthPlace, names: readonly string[]): Promise<ReadonlyMap<string, Buffer>>;
  /** @returns null for an absent month; without `parts` */
  earlier(place: MonthPlace, days: readonly number[]): Promise<Omit<WholeMonth, 'parts'> | null>;
  /**
   * Writes each month by itself, all or nothing, if it has its stamp; months of several series too.
   * After {@link StoreUnavailable} each write may have been made, or be made later; after one with `no-room` none of its month.
   */
  write(writes: readonly MonthWrite[]): Promise<Written[]>;
  /** Takes locks of a series, which expire. They do not fence writes. */
  claim(series: string, claim: Claim): Promise<Claimed>;
  /** Extends locks that `owner` still holds. @returns for each name whether it did */
  renew(series: string, held: Pick<Claim, 'owner' | 'names' | 'leaseMs'>): Promise<boolean[]>;
  /** Ends locks of `owner` only. */
  release(series: string, held: Release): Promise<void>;
  /** Notes the use of months on a day (days since the epoch). What is lost of it is harmless. */
  used(months: readonly MonthPlace[], day: number): Promise<void>;
  /** @returns months that were used longest ago, with their days of use */
  unused(limit: number): Promise<(MonthPlace & { readonly usedOn: number })[]>;
  /** The oldest months first. @param after exclusive; null: from the first on */
  months(after: MonthPlace | null, limit: number): Promise<MonthPlace[]>;
  /** @returns null for an absent month */
  whole(place: MonthPlace): Promise<WholeMonth | null>;
  /**
   * Removes all of a month that has this stamp (0: no index). @returns whether it had
   * @param told as that of a write
   */
  remove(place: MonthPlace, stamp: number, told?: Told): Promise<boolean>;
  /** Puts months back into the list that are stored, but not in it. Visits all. @returns their number */
  relist(isStopped: () => boolean): Promise<number>;
  /** @returns null: no limit is known */
  room(): DaysRoom | null;
}
