/** One range of a report that is fetched, and on whose account. */
import type { CallReport } from '../platform/slot.js';
import type { Entry } from '../report/entry.js';
import type { Range } from '../report/period.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { Patience } from './question.js';

export interface FetchDaysInput extends ReportSeries {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
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
