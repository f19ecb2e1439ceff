/** Joins parts to an answer. Rows are not parsed, and the ETag is made from digests: a 304 needs no body. */
import { digest } from '../query/platform-call.js';
import type { Assembled, AssembleInput, Body } from './answer.js';
import { revisionOf, writeMeta } from './answer-meta.js';
import { type Rewrite, rewritesFor } from './column-types.js';
import {
  type BodyPieces,
  type BytesHeader,
  type Entry,
  type RefusalHeader,
  ROW_SEPARATOR,
  type RowsHeader,
} from './entry.js';
import { type FreshnessRules, freshForMs, lacksDays, lastSeenMs, stateAt } from './freshness.js';
import { warningsOf } from './warnings.js';

export const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** A report without rows is an empty body. */
const EMPTY_CSV = 'text/csv; charset=utf-8; header=absent';

export function assemble(ask: AssembleInput): Assembled {
  const { parts, totals, nowMs, rules, format, past } = ask;
  const all = totals === null ? parts : [...parts, totals];
  // An empty answer is as of now.
  const asOfMs = all.length === 0 ? nowMs : Math.min(...all.map(({ header }) => lastSeenMs(header)));
  const isStale = ({ header }: Entry) => stateAt(header, rules, nowMs) !== 'fresh';
  const stale = past === null && (ask.areTotalsOld === true || all.some(isStale));
  const rowCount = parts.reduce((sum, { header }) => sum + header.rowCount, 0);
  const warned = warningsOf(ask);
  const revision = revisionOf(parts, ask.fields);
  const meta = format === 'json' ? writeMeta(ask, warned, { asOfMs, stale, rowCount, revision }) : '';
  const warnings = format === 'json' ? [] : codesOf(warned);
  const hashes = parts.map(({ header }) => header.hash);
  // Their order may differ from that in the rows.
  const columns = format === 'csv' ? JSON.stringify(unionColumns(parts)) : '';
  const filled = parts.filter(({ header }) => header.rowCount > 0);
  const rewrites = rewritesFor(filled.map(({ header }) => header));
  const types = rewrites.some((one) => one !== null) ? JSON.stringify(rewrites) : '';
  const fields = ask.fields === null ? '' : JSON.stringify(ask.fields);
  return {
    status: 200,
    contentType: format === 'csv' && rowCount === 0 ? EMPTY_CSV : CONTENT_TYPES[format],
    tag: digest([format, String(ask.bom), meta, columns, types, fields, ...warnings, ...hashes]).slice(0, 22),
    asOfMs,
    newestMs: Math.max(...all.map(({ header }) => header.fetchedAt)),
    freshUntilMs:
      past === null && all.length > 0
        ? Math.min(...all.map(({ header }) => header.fetchedAt + freshForMs(header, rules)))
        : nowMs + rules.currentMs,
    stale,
    rowCount,
    revision,
    warnings,
    weight: parts.reduce((sum, { body }) => sum + body.length, meta.length),
    accounts: [...new Set(all.flatMap(({ header }) => header.accounts))],
    seq: Math.min(...all.map(({ header }) => header.seq)),
    body: () => writeBody(ask, filled, rewrites, meta, rowCount),
  };
}

/** The platform's bytes, unchanged. */
export function assembleBytes(
  entry: Entry<BytesHeader | RefusalHeader>,
  rules: FreshnessRules,
  nowMs: number,
): Assembled {
  const { header, body } = entry;
  return {
    status: header.status,
    contentType: header.contentType,
    tag: digest(['raw', header.contentType, String(header.status), header.hash]).slice(0, 22),
    asOfMs: header.fetchedAt,
    newestMs: header.fetchedAt,
    freshUntilMs: header.fetchedAt + freshForMs(header, rules),
    stale: stateAt(header, rules, nowMs) !== 'fresh',
    rowCount: 0,
    revision: null,
    warnings: [...codesOf(header.flaws ?? []), ...(lacksDays(header, rules) ? ['beyond_retention'] : [])],
    weight: body.length,
    accounts: header.accounts,
    seq: header.seq,
    body: () => ({ ready: [body], deflated: null }),
  };
}

function codesOf(warned: readonly { readonly code: string }[]): readonly string[] {
  return [...new Set(warned.map(({ code }) => code))];
}

const NONE = Buffer.alloc(0);

/** @param filled parts with rows */
function writeBody(
  { format, parts, bom, fields }: AssembleInput,
  filled: readonly Entry<RowsHeader>[],
  rewrites: readonly (Rewrite | null)[],
  meta: string,
  rowCount: number,
): Body {
  const isJson = format === 'json';
  const head = isJson ? Buffer.from('{"data":[') : NONE;
  const tail = isJson ? Buffer.from(`],"meta":${meta}}`) : NONE;
  const rows = separate(filled.map(({ body }) => body));
  // Stored deflated rows have all columns, and are not rewritten.
  if (isJson && fields === null && rewrites.every((one) => one === null)) {
    const deflated = segmentsOf(filled);
    return {
      ready: [head, ...rows, tail],
      deflated: deflated === null ? null : [head, ...separate(deflated), tail],
    };
  }
  const columns = unionColumns(parts);
  const spaced = rewrites.flatMap((one, index) => (index === 0 ? [one] : [null, one]));
  return { head, tail, task: { format, chunks: rows, rewrites: spaced, columns, fields, rowCount, bom } };
}

const SEPARATOR = Buffer.from(ROW_SEPARATOR);

function separate<T>(bodies: readonly T[]): (T | Buffer)[] {
  return bodies.flatMap((body, index) => (index === 0 ? [body] : [SEPARATOR, body]));
}

/** Smaller rows need not be deflated. */
const SMALL_BYTES = 64;

function segmentsOf(filled: readonly Entry<RowsHeader>[]): BodyPieces | null {
  if (filled.some(({ body, segment }) => segment === undefined && body.length > SMALL_BYTES)) return null;
  return filled.map(({ body, segment }) => segment ?? body);
}

function unionColumns(parts: readonly Entry<RowsHeader>[]): string[] {
  return [...new Set(parts.flatMap(({ header }) => header.columns))];
}
