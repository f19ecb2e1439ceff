/** Entries of the cache: rows of a platform answer as JSON text, its bytes, or its refusal. For their bytes see `reports/cache/entry.ts`. */
import { hash } from 'node:crypto';
import { type Rewrite, rewriteRows } from './column-types.js';
import type { Facts } from './freshness.js';
import type { NormalizedRow } from './normalize.js';
import type { Paging } from './paging.js';

/** Of every kind. */
interface Common extends Facts {
  /** The newest purge known before the platform call; a later one that matches makes the entry absent. */
  readonly seq: number;
  /** Account ids anywhere in the answer: a limited team must not get other accounts. */
  readonly accounts: readonly string[];
  /** Digest of the body. */
  readonly hash: string;
}

/** Body: the rows as compact JSON texts joined by {@link ROW_SEPARATOR}. */
export interface RowsHeader extends Common {
  readonly form: 'rows';
  readonly columns: readonly string[];
  /** Names of the columns as the platform spells them; absent where all are the same. */
  readonly sources?: readonly string[] | undefined;
  /** Facts about each column; see column-types.ts. */
  readonly types?: readonly string[];
  readonly rowCount: number;
  readonly paging: Paging | null;
  /** For one day split from an answer; null for a whole answer. */
  readonly splitFrom: SplitFrom | null;
  /** For a whole answer that was joined from days: their generation; another one makes it void. */
  readonly joinedUnder?: string;
  /** Why it may be no report. Such a part is served when there is nothing better, and never stored. */
  readonly doubt?: string;
}

export interface SplitFrom {
  /** Period of the whole answer. */
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
  /** Not JSON: it has no rows, and only its bytes can be served. */
  readonly opaque: boolean;
  readonly status: number;
  readonly contentType: string;
}

/** Body: the platform's bytes. A 400, 404 or 422 of the platform, remembered for a short time. */
export interface RefusalHeader extends Common {
  readonly form: 'refusal';
  readonly status: number;
  readonly contentType: string;
  /** The platform's words, scrubbed, for `upstream`. */
  readonly upstream: unknown;
  /** The platform's bytes contained the token and were dropped: they cannot be served as `raw`. */
  readonly tainted: boolean;
}

export type EntryHeader = RowsHeader | BytesHeader | RefusalHeader;

export interface Entry<H extends EntryHeader = EntryHeader> {
  readonly header: H;
  readonly body: Buffer;
  /** The stored body, where it is deflated. */
  readonly segment?: Segment;
}

/** Raw deflate (RFC 1951) that ends on a full flush: whole bytes, no last block, no reference to earlier data. */
export interface Segment {
  readonly bytes: Buffer;
  readonly plainLength: number;
  readonly plainCrc: number;
}

/** A body in pieces, in order, of which some are deflated. */
export type BodyPieces = readonly (Buffer | Segment)[];

/** Compact JSON contains no raw line break, so this one ends a row for NDJSON and CSV alike. */
export const ROW_SEPARATOR = ',\n';

/** @returns the rows with some numbers as texts; the same bytes when there is nothing to rewrite */
export function rewriteBody(body: Buffer, rewrite: Rewrite | null): Buffer {
  return rewrite === null ? body : Buffer.from(rewriteRows(body.toString(), rewrite, ROW_SEPARATOR));
}

export function joinRows(rows: readonly NormalizedRow[]): Buffer {
  return Buffer.from(rows.map(({ json }) => json).join(ROW_SEPARATOR));
}

/** Digest of a body, for ETags and to detect restatements. */
export function bodyHash(body: Buffer): string {
  return hash('sha256', body, 'base64url').slice(0, 22);
}

/** Whether a decoded header has one of the forms above; anything else counts as absent. */
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

/** Lists that were checked before: days share those of one set of facts. */
const lists = new WeakSet<object>();

function areTexts(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  if (lists.has(value)) return true;
  if (!value.every((one) => typeof one === 'string')) return false;
  lists.add(value);
  return true;
}
