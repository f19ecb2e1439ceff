/**
 * The feed of changes: a list of entries, appended in the same step as what they tell of. An entry is one line of text, which the
 * store does not parse. The conformance suite is `test/store/conformance-changes.ts`.
 */
export interface FeedEntry {
  /** Grows along the feed; texts of one length, so that they sort as text: {@link FEED_START} is before all of them. */
  readonly position: string;
  readonly text: string;
}

/** What a write tells. */
export interface Told {
  /** Without line breaks. */
  readonly text: string;
  /** Changes in it: the limit of the feed counts them. */
  readonly count: number;
}

/** 15 digits, a hyphen, 9 digits. */
export const FEED_START = '000000000000000-000000000';

/** @param high below 10^15. @param low below 10^9 */
export const positionOf = (high: number, low: number): string =>
  `${String(high).padStart(15, '0')}-${String(low).padStart(9, '0')}`;

/** Of {@link positionOf}. @throws RangeError for any other text */
export function partsOfPosition(position: string): readonly [high: number, low: number] {
  if (!/^\d{15}-\d{9}$/.test(position)) throw new RangeError(`not a position in the feed: ${position}`);
  return [Number(position.slice(0, 15)), Number(position.slice(16))];
}

export interface FeedPage {
  /** Another one after the feed was lost: positions of the former mean nothing any more. Text of `[a-z0-9]`. */
  readonly incarnation: string;
  /** When this incarnation began, epoch milliseconds. */
  readonly createdMs: number;
  /** When the oldest entry that is kept was appended; without one `createdMs`. */
  readonly oldestMs: number;
  /** In order, unless the newest were wanted. The first one is at the wanted position, if that is still kept. */
  readonly entries: readonly FeedEntry[];
  /** Of the newest entry, also if it is gone; {@link FEED_START}: there was none. */
  readonly last: string;
  /** The greatest position that was removed to keep the limit; {@link FEED_START}: none was. */
  readonly trimmed: string;
}

/** Channel of the bus: there are new entries. The message is empty, and may be lost. */
export const FEED_CHANNEL = 'changes';

/** Every call may reject with `StoreUnavailable`. */
export interface Changes {
  /** @param from inclusive: a reader of the entries after it also sees whether its own is still the same */
  read(from: string, limit: number): Promise<FeedPage>;
  /** @returns only the newest entry, or so many, the newest first */
  newest(limit?: number): Promise<FeedPage>;
  /** Appends an entry that belongs to no write, and publishes {@link FEED_CHANNEL}. */
  append(told: Told): Promise<void>;
  /** Removes the oldest entries beyond a number of changes, some more than 1,000 changes late. */
  trim(maxChanges: number): Promise<void>;
  /**
   * For a store that cannot append in the step of a write (Redis Cluster): appends what dead writers left, a second after their
   * write. Elsewhere it does nothing.
   * @param everything also looks at months without a note of a write, those of the last two days
   */
  publish(everything: boolean, isStopped: () => boolean): Promise<void>;
}
