/** A range of a report that is fetched, the platform's answer to it, and the result for those who wait for it. */
import type { GatewayError } from '../../errors.js';
import type { CallReport } from '../../telemetry/trace.js';
import type { EntryOrError } from '../cache/entries.js';
import type { Report } from '../query/canonicalize.js';
import type { Period } from '../query/period.js';
import type { Patience, ReportQuestion } from '../question.js';
import type { BytesHeader, Entry, RefusalHeader, RowsHeader, SplitFrom } from '../rows/entry.js';
import type { Flaw } from '../rows/flaws.js';
import type { EmptyEnd, Facts, FreshnessRules } from '../rows/freshness.js';
import type { Splittable } from '../rows/rows.js';

/** A range of a report that is fetched, and on whose account. */
export interface Fetch extends ReportQuestion {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly range: Period;
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

/** The result of fetching some entries of a report. */
export interface FetchResult {
  /** By key; none when the entries are in the store, or have to be looked for again. */
  readonly entries: ReadonlyMap<string, EntryOrError>;
  /** own: this request asked the platform · other: another caller had it under way, or had just fetched it */
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

export interface FetchedAnswer {
  readonly kind: 'answer';
  readonly range: Period;
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
  readonly range: Period;
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
export interface RequestedRange {
  readonly report: Report;
  /** Rows all together, and the platform's bytes, beside the days. */
  readonly whole: boolean;
  /** Generation of the kind's divisibility; split days carry it. */
  readonly generation: string;
  /** What is known already of a day, from a part that holds it, to tell an empty day that stays empty. */
  readonly earlier: (lastDay: string | null) => Earlier | null;
  readonly range: Period;
  readonly startedAt: number;
  /** The newest purge known when the platform was asked. */
  readonly seq: number;
}

/** What is known of an answer before it is read. */
export type AnswerFacts = Omit<Facts, keyof EmptyEnd | 'lastDay'> & { readonly seq: number };

export interface Context {
  readonly asked: RequestedRange;
  readonly facts: AnswerFacts;
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Digest of the body; empty when only days are wanted. */
  readonly hash: string;
  readonly storable: boolean;
}
