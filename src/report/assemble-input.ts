/** What an answer is made from. */
import type { CanonicalReport } from './canonicalize.js';
import type { BytesHeader, Entry, RowsHeader } from './entry.js';
import type { FreshnessRules } from './freshness.js';
import type { Format } from './output-options.js';

/** What is known of one day as it was, epoch milliseconds. */
export interface KnownDay {
  readonly knownFrom: number;
  readonly confirmedUntil: number;
  /** Something else that was seen by that moment is not kept: it was removed to save room, or never written down. */
  readonly lacks: 'thinned' | 'missed' | null;
  /** It had been seen final. */
  readonly final: boolean;
  /** Where the first numbers are asked for: how old the day was when they were seen, in hours. */
  readonly ageHours: number | null;
}

/** An answer from history. */
export interface Past {
  /** The moment whose knowledge it is; null where each day has one of its own. */
  readonly atMs: number | null;
  /** By date. */
  readonly days: ReadonlyMap<string, KnownDay>;
}

export interface AssembleInput {
  readonly report: CanonicalReport;
  readonly format: Exclude<Format, 'raw'>;
  /** In date order when the report is split by date. */
  readonly parts: readonly Entry<RowsHeader>[];
  /** The unsplit report of the same period, when it was asked for. */
  readonly totals: Entry<RowsHeader | BytesHeader> | null;
  /** The rows have changed since the totals were fetched. */
  readonly areTotalsOld?: boolean;
  readonly days: boolean;
  readonly bom: boolean;
  /** The columns that are wanted, in order; null: all. */
  readonly fields: readonly string[] | null;
  readonly nowMs: number;
  readonly rules: FreshnessRules;
  /** Set where it is what was known at a past moment: that gets no staler. */
  readonly past: Past | null;
  /** Whether what is fetched is written to the history, so that the answer can be asked for again. */
  readonly isRecorded: boolean;
  /** Of its youngest day that is not final, by column. Null where nothing can be said. */
  readonly expectedChange?: Readonly<Record<string, object>> | null;
  /** Days that were asked for and are not in it, for they are not final (`_final=only`). */
  readonly leftOut: readonly string[];
}
