/** Types of an answer: what it is made from, what its headers say, and what its body is made of. */
import type { ErrorCode } from '../../errors.js';
import type { Report } from '../query/canonicalize.js';
import type { Format } from '../query/output-options.js';
import type { Rewrite } from './column-types.js';
import type { BodyPieces, Entry, RowsHeader } from './entry.js';
import type { FreshnessRules } from './freshness.js';
import type { Apart } from './sums.js';

/** A recorded state of a day; times in epoch milliseconds. */
export interface KnownDay {
  readonly knownFrom: number;
  readonly confirmedUntil: number;
  /** A later state of that time is not available: removed to save space, or never recorded. */
  readonly lacks: 'thinned' | 'missed' | null;
  readonly final: boolean;
  /** First numbers only: age of the day when they were fetched. */
  readonly ageHours: number | null;
}

/** Data from history. */
export interface Past {
  /** Null: a time for each day. */
  readonly atMs: number | null;
  /** By date. */
  readonly days: ReadonlyMap<string, KnownDay>;
}

export interface AnswerInput {
  readonly report: Report;
  readonly format: Format;
  /** In date order; a single one for bytes, refusals and reports that are not split. */
  readonly parts: readonly Entry[];
  /** The unsplit report of the same period, for `_totals`. */
  readonly totals: Entry | null;
  /** The rows changed after the totals were fetched. */
  readonly areTotalsOld?: boolean;
  /** Why the platform did not give the totals; null or absent: it did, or nobody wants them. */
  readonly totalsFailure?: ErrorCode | null;
  /** Totals that are not the sums of the rows; absent: none are known. */
  readonly totalsApart?: readonly Apart[];
  readonly days: boolean;
  readonly bom: boolean;
  /** Columns in order; null: all. */
  readonly fields: readonly string[] | null;
  readonly nowMs: number;
  readonly rules: FreshnessRules;
  /** Data from history never goes stale. */
  readonly past: Past | null;
  /** Whether fetches are recorded in history: then `_asOf` can return the answer again. */
  readonly isRecorded: boolean;
  /** Of the youngest provisional day, by column; null: unknown. */
  readonly expectedChange?: Readonly<Record<string, object>> | null;
  /** Provisional days of the period that `_final=only` leaves out. */
  readonly leftOut: readonly string[];
}

export interface AssembleInput extends AnswerInput {
  readonly format: Exclude<Format, 'raw'>;
  readonly parts: readonly Entry<RowsHeader>[];
  /** A refusal, if the rows are there although the platform has forgotten their days. */
  readonly totals: Entry | null;
}

/** Data for the headers of an answer, and for the decision to serve it. */
export interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  /** Entity tag without quotes; changes with the body. */
  readonly tag: string;
  /** Fetch time of the oldest part. */
  readonly asOfMs: number;
  /** Fetch time of the newest part. */
  readonly newestMs: number;
  /** Of the part that expires first. */
  readonly freshUntilMs: number;
  readonly stale: boolean;
  readonly rowCount: number;
  /** See `revisionOf` in answer-meta.ts. */
  readonly revision: string | null;
  /** Codes of warnings that the body does not contain. */
  readonly warnings: readonly string[];
  /** Approximate size of the body in bytes. */
  readonly weight: number;
  /** Account ids in the answer. */
  readonly accounts: readonly string[];
  /** The oldest purge state among the parts. */
  readonly seq: number;
}

export interface Assembled extends AnswerHead {
  /** Builds it. */
  readonly body: () => Body;
}

/** A body, or its rows and their format. In pieces: large bodies are never copied into one buffer. */
export type Body =
  | {
      readonly ready: readonly Buffer[];
      /** The same with the stored, deflated rows; null if some are not deflated. */
      readonly deflated: BodyPieces | null;
    }
  | {
      readonly task: FormatTask;
      /** Before the rows and after them. */
      readonly head: Buffer;
      readonly tail: Buffer;
    };

/** Rows to be formatted; many rows on another thread. */
export interface FormatTask {
  /** json: the rows alone. */
  readonly format: Exclude<Format, 'raw'>;
  /** Rows and separators, in order. */
  readonly chunks: readonly Uint8Array[];
  /** For each chunk, what must be rewritten for one type per column; such a chunk has whole rows. Absent: nothing. */
  readonly rewrites?: readonly (Rewrite | null)[];
  /** Of all rows. */
  readonly columns: readonly string[];
  /** Columns in order; null or absent: all. */
  readonly fields?: readonly string[] | null;
  readonly rowCount: number;
  readonly bom: boolean;
}
