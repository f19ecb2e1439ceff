/** What came of fetching some entries of a report. */
import type { EntryOrError } from './entries.js';

export interface FetchResult {
  /** By key; none when the entries are in the store, or have to be looked for again. */
  readonly entries: ReadonlyMap<string, EntryOrError>;
  /** own: this request asked the platform · other: somebody else had it under way, or had just brought it */
  readonly by: 'own' | 'other';
  /** Whether the store has taken them, as far as that was waited for. */
  readonly stored: boolean;
  /** Whether they may be stored at all: not when the platform said no-store, nor what may be no report. */
  readonly storable: boolean;
  /**
   * Set when an answer may not be split by day although its kind was thought to allow it: the report is to be taken as a
   * whole. `entries` holds that, when the answer was for the whole period. Of one that may be no report (`doubtful`)
   * what is known already is better.
   */
  readonly unsplittable: { readonly doubtful: boolean } | null;
}

/** Nothing in hand: look again. */
export const LOOK_AGAIN: FetchResult = {
  entries: new Map(),
  by: 'other',
  stored: false,
  storable: true,
  unsplittable: null,
};
