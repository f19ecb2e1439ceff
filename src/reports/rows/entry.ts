/** Entries of the cache: rows of a platform answer as JSON text, its bytes, or a refusal. Stored form: `reports/cache/entry.ts`. */
import { hash } from 'node:crypto';
import { type Rewrite, rewriteRows } from './column-types.js';
import type { Facts } from './freshness.js';
import type { Paging } from './paging.js';

interface Common extends Facts {
  /** The newest purge known before the platform call; a later one that matches invalidates the entry. */
  readonly seq: number;
  /** Account ids anywhere in the answer; limited teams must not see others. */
  readonly accounts: readonly string[];
  /** Digest of the body. */
  readonly hash: string;
}

/** Body: the rows as compact JSON texts joined by {@link ROW_SEPARATOR}. */
export interface RowsHeader extends Common {
  readonly form: 'rows';
  readonly columns: readonly string[];
  /** The columns in the platform's spelling; absent if all are equal. */
  readonly sources?: readonly string[] | undefined;
  /** Facts about each column; see column-types.ts. */
  readonly types?: readonly string[];
  readonly rowCount: number;
  readonly answerRows: number;
  readonly paging: Paging | null;
  /** For a day split from an answer; null for a whole answer. */
  readonly splitFrom: SplitFrom | null;
  /** Of a join of days: their generation, see {@link SplitFrom}. */
  readonly joinedUnder?: string;
}

export interface SplitFrom {
  /** Period of the whole answer. */
  readonly from: string;
  readonly to: string;
  /** Digest of the rows in any order. */
  readonly sortedHash: string;
  /** Version of what is learned about this kind of report; a new one invalidates the day. */
  readonly generation: string;
}

/** Body: the platform's bytes. */
export interface BytesHeader extends Common {
  readonly form: 'bytes';
  /** Not JSON: only its bytes can be served. */
  readonly opaque: boolean;
  readonly status: number;
  readonly contentType: string;
}

/** A 400, 404 or 422, cached for a short time. Body: the platform's bytes. */
export interface RefusalHeader extends Common {
  readonly form: 'refusal';
  readonly status: number;
  readonly contentType: string;
  /** Error details without the token, for `upstream`. */
  readonly upstream: unknown;
  /** The bytes contained the token and were dropped: no `raw` answer. */
  readonly tainted: boolean;
}

export type EntryHeader = RowsHeader | BytesHeader | RefusalHeader;

export interface Entry<H extends EntryHeader = EntryHeader> {
  readonly header: H;
  readonly body: Buffer;
  /** The stored body, if deflated. */
  readonly segment?: Segment;
}

/** Raw deflate (RFC 1951) that ends with a full flush: whole bytes, no final block, no reference to earlier data. */
export interface Segment {
  readonly bytes: Buffer;
  readonly plainLength: number;
  readonly plainCrc: number;
}

/** A body in pieces, some of them deflated. */
export type BodyPieces = readonly (Buffer | Segment)[];

/** Compact JSON contains no raw line break. */
export const ROW_SEPARATOR = ',\n';

export function rewriteBody(body: Buffer, rewrite: Rewrite | null): Buffer {
  return rewrite === null ? body : Buffer.from(rewriteRows(body.toString(), rewrite, ROW_SEPARATOR));
}

/** For ETags, and to detect restatements. */
export function bodyHash(body: Buffer): string {
  return hash('sha256', body, 'base64url').slice(0, 22);
}

/** An entry without a valid header counts as absent. */
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
  const { order, fetchedAt, fetchStartedAt, fetchedOn, lastDay, originMs, emptySince } = header;
  return (
    [order, fetchedAt, fetchStartedAt, fetchedOn].every((value) => typeof value === 'number') &&
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

function hasRows(header: Readonly<Record<string, unknown>>): boolean {
  const { columns, sources, types, rowCount, paging, splitFrom } = header;
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

/** Checked lists, which days share. */
const lists = new WeakSet<object>();

function areTexts(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  if (lists.has(value)) return true;
  if (!value.every((one) => typeof one === 'string')) return false;
  lists.add(value);
  return true;
}
