/**
 * What is kept of one platform answer: its rows as ready JSON text, its own bytes, or its refusal. The header is
 * stored as JSON in front of the body; see `cache/entry.ts`.
 */
import { hash } from 'node:crypto';
import { type Rewrite, rewriteRows } from './column-types.js';
import type { Facts } from './freshness.js';
import type { NormalizedRow } from './normalize.js';
import type { Paging } from './paging.js';

/** In front of every kind: when and for what it was fetched. */
interface Common extends Facts {
  /** The newest purge known before the platform was asked; a later one that matches makes the entry absent. */
  readonly seq: number;
  /** Account ids anywhere in the answer, so that a limited team is never given a foreign one. */
  readonly accounts: readonly string[];
  /** Digest of the body. */
  readonly hash: string;
}

/** Body: the rows as compact JSON texts joined by {@link ROW_SEPARATOR}. */
export interface RowsHeader extends Common {
  readonly form: 'rows';
  readonly columns: readonly string[];
  /** Their members as the platform spells them, in their order; absent where all are spelt alike. */
  readonly sources?: readonly string[] | undefined;
  /** What was seen of each column, in their order; see column-types.ts. */
  readonly types?: readonly string[];
  readonly rowCount: number;
  readonly paging: Paging | null;
  /** Set for one day split from an answer; null for an answer as a whole. */
  readonly splitFrom: SplitFrom | null;
  /** An answer as a whole that was joined from days: the generation they were split under; another one makes it void. */
  readonly joinedUnder?: string;
  /** Why it may be no report. Such a part is given when there is nothing better, and never kept. */
  readonly doubt?: string;
}

export interface SplitFrom {
  /** Period of the answer it was split from. */
  readonly from: string;
  readonly to: string;
  /** Digest of the rows without regard to their order. */
  readonly sortedHash: string;
  /** Generation of the kind's divisibility; another one makes the segment void. */
  readonly generation: string;
}

/** Body: the platform's bytes. */
export interface BytesHeader extends Common {
  readonly form: 'bytes';
  /** Not JSON: there are no rows to read, the bytes are all that can be given. */
  readonly opaque: boolean;
  readonly status: number;
  readonly contentType: string;
}

/** Body: the platform's bytes. The platform said 400, 404 or 422; remembered for a short time. */
export interface RefusalHeader extends Common {
  readonly form: 'refusal';
  readonly status: number;
  readonly contentType: string;
  /** The platform's words, scrubbed, as they go under `upstream`. */
  readonly upstream: unknown;
  /** The platform's bytes held the token and were dropped: they cannot be given as `raw`. */
  readonly tainted: boolean;
}

export type EntryHeader = RowsHeader | BytesHeader | RefusalHeader;

export interface Entry<H extends EntryHeader = EntryHeader> {
  readonly header: H;
  readonly body: Buffer;
  /** The body as the cache keeps it, where that is deflated. */
  readonly segment?: Segment;
}

/** Bytes as raw deflate (RFC 1951) that ends on a full flush: whole bytes, no last block, nothing of what was before. */
export interface Segment {
  readonly bytes: Buffer;
  readonly plainLength: number;
  readonly plainCrc: number;
}

/** A body in pieces, in order, of which some are deflated. */
export type BodyPieces = readonly (Buffer | Segment)[];

/** A raw line break never occurs inside of compact JSON, so this one ends a row for NDJSON and CSV alike. */
export const ROW_SEPARATOR = ',\n';

/** @returns the rows with some numbers as texts; the same bytes when there is nothing to rewrite */
export function rewriteBody(body: Buffer, rewrite: Rewrite | null): Buffer {
  return rewrite === null ? body : Buffer.from(rewriteRows(body.toString(), rewrite, ROW_SEPARATOR));
}

export function joinRows(rows: readonly NormalizedRow[]): Buffer {
  return Buffer.from(rows.map(({ json }) => json).join(ROW_SEPARATOR));
}

/** Digest of a body, for ETags and for telling a restatement. */
export function bodyHash(body: Buffer): string {
  return hash('sha256', body, 'base64url').slice(0, 22);
}

/** Whether a decoded header is one of the forms above; anything else in the store counts as absent. */
export function isEntryHeader(value: unknown): value is EntryHeader {
  if (typeof value !== 'object' || value === null) return false;
  const header = value as Readonly<Record<string, unknown>>;
  return (
    hasFacts(header) &&
    typeof header.seq === 'number' &&
    typeof header.hash === 'string' &&
    areTexts(header.accounts) &&
    (header.form === 'rows' ? hasRows(header) : hasBytes(header))
  );
}

function hasFacts(header: Readonly<Record<string, unknown>>): boolean {
  const { fetchedAt, fetchStartedAt, fetchedOn, lastDay, originMs, emptySince } = header;
  return (
    [fetchedAt, fetchStartedAt, fetchedOn].every((value) => typeof value === 'number') &&
    (lastDay === null || typeof lastDay === 'string') &&
    (originMs === null || typeof originMs === 'number') &&
    ['bounded', 'open', 'undeclared'].includes(header.kind as string) &&
    ['no', 'unconfirmed', 'confirmed'].includes(header.emptyTail as string) &&
    (emptySince === undefined || (Array.isArray(emptySince) && emptySince.every(isEmptyRun)))
  );
}

function isEmptyRun(run: unknown): boolean {
  return Array.isArray(run) && typeof run[0] === 'string' && typeof run[1] === 'number';
}

function hasRows({
  columns,
  sources,
  types,
  rowCount,
  paging,
  splitFrom,
}: Readonly<Record<string, unknown>>): boolean {
  return (
    areTexts(columns) &&
    (sources === undefined || areTexts(sources)) &&
    (types === undefined || areTexts(types)) &&
    typeof rowCount === 'number' &&
    typeof paging === 'object' &&
    isSplitFrom(splitFrom)
  );
}

function isSplitFrom(splitFrom: unknown): boolean {
  if (typeof splitFrom !== 'object') return false;
  if (splitFrom === null) return true;
  const { from, to, sortedHash, generation } = splitFrom as Readonly<Record<string, unknown>>;
  return [from, to, sortedHash, generation].every((one) => typeof one === 'string');
}

function hasBytes({ form, status, contentType }: Readonly<Record<string, unknown>>): boolean {
  const known = form === 'bytes' || form === 'refusal';
  return known && typeof status === 'number' && typeof contentType === 'string';
}

/** Lists that were looked through before: those of one set of facts are shared by its days. */
const lists = new WeakSet<object>();

function areTexts(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  if (lists.has(value)) return true;
  if (!value.every((one) => typeof one === 'string')) return false;
  lists.add(value);
  return true;
}
