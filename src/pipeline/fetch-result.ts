/** What is fetched of a report, and what came of it. */

import type { CallReport } from '../platform/slot.js';
import type { Entry } from '../report/entry.js';
import type { Range } from '../report/period.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { EntryOrError } from './entries.js';
import type { Patience, ReportQuestion } from './question.js';

/** One range of a report that is fetched, and on whose account. */
export interface FetchDaysInput extends ReportSeries {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  /** What is asked for of it. */
  readonly form: ReportQuestion['form'];
  readonly range: Range;
  /** Who pays for further calls. */
  readonly team: string;
  /** What was known of entries before, by key. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly patience: Patience;
  /** Told before a further call is made for the same range. */
  readonly onFurtherCall?: () => void;
  readonly onCall?: (report: CallReport) => void;
  /** False for calls that learning itself makes. */
  readonly learns: boolean;
}

/** What came of fetching some entries of a report. */
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
