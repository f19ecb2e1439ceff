/** Types of an answer: what it is made from, what its headers say, and what its body is made of. */
import type { Report } from '../query/canonicalize.js';
import type { Format } from '../query/output-options.js';
import type { Rewrite } from './column-types.js';
import type { BodyPieces, BytesHeader, Entry, RowsHeader } from './entry.js';
import type { FreshnessRules } from './freshness.js';

/** One day as it was known, epoch milliseconds. */
export interface KnownDay {
  readonly knownFrom: number;
  readonly confirmedUntil: number;
  /** A later state seen by that moment is not kept: it was removed to save space, or never written. */
  readonly lacks: 'thinned' | 'missed' | null;
  /** It had been seen final. */
  readonly final: boolean;
  /** For the first numbers: age of the day when they were seen, in hours. */
  readonly ageHours: number | null;
}

/** Data from history. */
export interface Past {
  /** The moment it was known at; null where each day has its own. */
  readonly atMs: number | null;
  /** By date. */
  readonly days: ReadonlyMap<string, KnownDay>;
}

export interface AnswerInput {
  readonly report: Report;
  readonly format: Format;
  /** In date order; one when the report is not split, or when it is bytes or a refusal. */
  readonly parts: readonly Entry[];
  /** The unsplit report of the same period, for `_totals`. */
  readonly totals: Entry | null;
  /** The rows have changed since the totals were fetched. */
  readonly areTotalsOld?: boolean;
  readonly days: boolean;
  readonly bom: boolean;
  /** Columns in order; null: all. */
  readonly fields: readonly string[] | null;
  readonly nowMs: number;
  readonly rules: FreshnessRules;
  /** Set for data of a past moment, which never goes stale. */
  readonly past: Past | null;
  /** Whether fetches are recorded in history, so that the answer can be asked for again. */
  readonly isRecorded: boolean;
  /** Of its youngest provisional day, by column; null where unknown. */
  readonly expectedChange?: Readonly<Record<string, object>> | null;
  /** Provisional days of the period that `_final=only` leaves out. */
  readonly leftOut: readonly string[];
}

/** For an answer of rows. */
export interface AssembleInput extends AnswerInput {
  readonly format: Exclude<Format, 'raw'>;
  readonly parts: readonly Entry<RowsHeader>[];
  readonly totals: Entry<RowsHeader | BytesHeader> | null;
}

/** What the headers of an answer say, and what decides whether it may be served. */
export interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  /** Opaque tag without quotes; changes with everything the body shows. */
  readonly tag: string;
  /** When the oldest part was fetched. */
  readonly asOfMs: number;
  /** When the newest part was fetched. */
  readonly newestMs: number;
  /** When the first part stops being fresh. */
  readonly freshUntilMs: number;
  readonly stale: boolean;
  readonly rowCount: number;
  /** Identifies the rows by day: the same rows, the same revision. Null for what is not kept by day. */
  readonly revision: string | null;
  /** Codes of warnings that the body does not contain. */
  readonly warnings: readonly string[];
  /** Approximate size of the body, known before it is made. */
  readonly weight: number;
  /** Account ids the answer holds. */
  readonly accounts: readonly string[];
  /** The oldest purge state among the parts. */
  readonly seq: number;
}

/** An answer whose body is made when it is needed. */
export interface Assembled extends AnswerHead {
  readonly body: () => Body;
}

/** A body, or the rows that it is made from. In pieces, in order: large ones are never copied into one. */
export type Body =
  | {
      readonly ready: readonly Buffer[];
      /** The same with rows as they are stored, deflated; null where some are not. */
      readonly deflated: BodyPieces | null;
    }
  | {
      readonly task: FormatTask;
      /** Before the rows and after them. */
      readonly head: Buffer;
      readonly tail: Buffer;
    };

/** Rows to be formatted, on another thread where they are many. */
export interface FormatTask {
  /** json: the rows alone. */
  readonly format: Exclude<Format, 'raw'>;
  /** The joined rows, in pieces, with separators between them. */
  readonly chunks: readonly Uint8Array[];
  /** For each piece, what must be rewritten so that columns have one type; such a piece is whole rows. Absent: nothing. */
  readonly rewrites?: readonly (Rewrite | null)[];
  /** Of all rows. */
  readonly columns: readonly string[];
  /** Columns in order; null or absent: all. */
  readonly fields?: readonly string[] | null;
  readonly rowCount: number;
  readonly bom: boolean;
}
