/** Types of a fetch: the requested range, the platform's answer, and the result for the waiting requests. */
import type { GatewayError } from '../../errors.js';
import type { CallReport } from '../../telemetry/trace.js';
import type { EntryOrError } from '../cache/entries.js';
import type { Report } from '../query/canonicalize.js';
import type { Period } from '../query/period.js';
import type { Patience, ReportQuestion } from '../question.js';
import type { Digest } from '../rows/digest.js';
import type { BytesHeader, Entry, EntryHeader, RefusalHeader, RowsHeader } from '../rows/entry.js';
import type { EmptyEnd, Facts, FinalRules } from '../rows/freshness.js';
import type { HandedOver } from './fetch-locks.js';

export interface Fetch extends ReportQuestion {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly range: Period;
  /** Charged for further calls. */
  readonly team: string;
  /** Further calls wait for those of all teams. */
  readonly waitsForAll?: boolean;
  /** Locks that the write of the answer may end. */
  readonly handOver?: () => HandedOver | undefined;
  /** Of fetches: a later one is larger. */
  readonly order: number;
  /** Earlier entries by id of their ref. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly patience: Patience;
  /** Called before a further call for the same range. */
  readonly onFurtherCall?: () => void;
  readonly onCall?: (report: CallReport) => void;
  /** False for calls that learning itself makes. */
  readonly learns: boolean;
}

export interface FetchResult {
  /** By id of their ref; none if they are in the store, or must be looked up again. */
  readonly entries: ReadonlyMap<string, EntryOrError>;
  /** own: this request called the platform · other: another request did, or had just fetched them */
  readonly by: 'own' | 'other';
  /** Whether the store has accepted them, as far as that was awaited. */
  readonly stored: boolean;
  readonly storable: boolean;
  /**
   * Set if an answer cannot be split by day, unlike earlier ones: the report must be fetched as a whole. `entries` has it, if
   * the answer was for the whole period. If it may be no report (`doubtful`), an earlier entry is better.
   */
  readonly unsplittable: { readonly doubtful: boolean } | null;
}

/** No entries: they must be looked up again. */
export const LOOK_AGAIN: FetchResult = {
  entries: new Map(),
  by: 'other',
  stored: false,
  storable: true,
  unsplittable: null,
};

export interface FetchedAnswer extends Pick<Digest, 'splittable' | 'rowCount' | 'doubt' | 'flaws'> {
  readonly kind: 'answer';
  readonly range: Period;
  /** Null if only days were requested and there are some, or if it is no JSON or no report (`rowsFault`). */
  readonly rows: Entry<RowsHeader> | null;
  readonly rowsFault: GatewayError | null;
  /** Null if only days were requested. */
  readonly bytes: Entry<BytesHeader> | null;
  /** One entry for each day; null if the answer may not be split. */
  readonly days: readonly Entry<RowsHeader>[] | null;
  /** False for `no-store`, if RFC 9111 decides and forbids it, for one page of several, and if it is or may be no report. */
  readonly storable: boolean;
}

export interface FetchedRefusal {
  readonly kind: 'refusal';
  readonly range: Period;
  readonly refusal: Entry<RefusalHeader>;
  readonly storable: boolean;
}

export type Fetched = FetchedAnswer | FetchedRefusal;

/** The same with these members in the header of all its entries. */
export function withHeader(
  answer: FetchedAnswer,
  more: Pick<EntryHeader, 'fetchedAt'> | Pick<EntryHeader, 'complete'>,
): FetchedAnswer {
  const changed = <E extends Entry>(entry: E): E => ({ ...entry, header: { ...entry.header, ...more } });
  const { rows, bytes, days } = answer;
  return {
    ...answer,
    rows: rows && changed(rows),
    bytes: bytes && changed(bytes),
    days: days?.map(changed) ?? null,
  };
}

/** Header of an earlier entry, for a day or a whole answer. */
export type Earlier = Facts & Partial<Pick<RowsHeader, 'rowCount' | 'splitFrom'>>;

/** A pending call. */
export interface RequestedRange {
  readonly report: Report;
  /** Also all rows together, and the platform's bytes. */
  readonly whole: boolean;
  /** Version of what is learned about reports of this kind; see `SplitFrom`. */
  readonly generation: string;
  /** To confirm empty days. */
  readonly earlier: (lastDay: string | null) => Earlier | null;
  readonly range: Period;
  /** Of the fetch; see {@link Fetch}. */
  readonly order: number;
  readonly startedAt: number;
  /** The newest purge known at the start of the call. */
  readonly seq: number;
}

/** Known before the answer is read. */
export type AnswerFacts = Omit<Facts, keyof EmptyEnd | 'lastDay'> & { readonly seq: number };

export interface Context {
  readonly asked: RequestedRange;
  readonly facts: AnswerFacts;
  readonly rules: FinalRules;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Digest of the body; empty if only days are requested. */
  readonly hash: string;
  readonly storable: boolean;
}
