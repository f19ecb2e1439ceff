import type { GatewayError } from '../errors.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { EmptyEnd } from '../report/empty-days.js';
import type { BytesHeader, Entry, RefusalHeader, RowsHeader, SplitFrom } from '../report/entry.js';
import type { Flaw } from '../report/flaws.js';
import type { Facts, FreshnessRules } from '../report/freshness.js';
import type { Range } from '../report/period.js';
import type { Splittable } from '../report/rows.js';

export interface FetchedAnswer {
  readonly kind: 'answer';
  readonly range: Range;
  /** Null when only days were wanted and there are some, when it is not JSON, or when it is no report (`rowsFault`). */
  readonly rows: Entry<RowsHeader> | null;
  readonly rowsFault: GatewayError | null;
  /** Null when only days were wanted. */
  readonly bytes: Entry<BytesHeader> | null;
  /** One part a day, empty days too; null when the answer may not be split. */
  readonly days: readonly Entry<RowsHeader>[] | null;
  readonly splittable: Splittable;
  readonly rowCount: number;
  /** Why it may be no report; null when nothing speaks against it. */
  readonly doubt: string | null;
  /** What of it is visibly not what was asked for. */
  readonly flaws: readonly Flaw[];
  /**
   * False when the platform said `no-store`, when RFC 9111 forbids it where that decides, and for what is no report,
   * may be none, or is one page of several.
   */
  readonly storable: boolean;
}

export interface FetchedRefusal {
  readonly kind: 'refusal';
  readonly range: Range;
  readonly refusal: Entry<RefusalHeader>;
  readonly storable: boolean;
}

export type Fetched = FetchedAnswer | FetchedRefusal;

/** What is known of an earlier look: of a day, or of a whole answer. */
export type Earlier = Facts & {
  readonly rowCount?: number;
  readonly columns?: readonly string[];
  /** Of a day that was split from an answer. */
  readonly splitFrom?: SplitFrom | null;
};

/** A call under way: what it asked for, and when. */
export interface AskedReport {
  readonly report: CanonicalReport;
  /** Rows all together, and the platform's bytes, beside the days. */
  readonly whole: boolean;
  /** Generation of the kind's divisibility; split days carry it. */
  readonly generation: string;
  /** What is known already of a day, from a part that holds it, to tell an empty day that stays empty. */
  readonly earlier: (lastDay: string | null) => Earlier | null;
  readonly range: Range;
  readonly startedAt: number;
  /** The newest purge known when the platform was asked. */
  readonly seq: number;
}

/** What is known of an answer before it is read. */
export type AnswerFacts = Omit<Facts, keyof EmptyEnd | 'lastDay'> & { readonly seq: number };

export interface Context {
  readonly asked: AskedReport;
  readonly facts: AnswerFacts;
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Digest of the body; empty when only days are wanted. */
  readonly hash: string;
  readonly storable: boolean;
}
