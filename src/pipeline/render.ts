/** Parts to a finished answer, and how long that may be sent as it is. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Purges } from '../cache/purges.js';
import { GatewayError } from '../errors.js';
import type { ExpectedChange } from '../finality/change-buckets.js';
import { compress } from '../http/compress.js';
import { joinGzip } from '../http/join-gzip.js';
import type { Coding } from '../http/negotiate.js';
import { inOwnMemory } from '../own-memory.js';
import { invalid } from '../platform/interpret.js';
import { type Assembled, assemble, assembleBytes, type Body } from '../report/assemble.js';
import type { Past } from '../report/assemble-input.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { BodyPieces, BytesHeader, Entry, RefusalHeader, RowsHeader } from '../report/entry.js';
import { type FreshnessRules, MAX_FUTURE_MS, rememberedForMs } from '../report/freshness.js';
import { settleNames } from '../report/join-entries.js';
import type { Format } from '../report/output-options.js';
import { fieldFaults } from '../report/project-rows.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import { isNewest, type MadeOf } from './replacements.js';
import type { Shape } from './shape.js';

/** A body that can be sent as it is. */
export interface Finished extends Omit<Assembled, 'body'> {
  readonly coding: Coding;
  /** For an answer from days: from when on it is worth a check, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** Its rows, and the totals beside them. */
  readonly madeOf: readonly MadeOf[];
  /** Joined of what was deflated piece by piece: about twice as large as it has to be. */
  readonly isPieced: boolean;
  /** In pieces, in order; one unless it is large. */
  readonly body: readonly Buffer[];
  /** For the memory bound. */
  readonly bytes: number;
}

export interface FinishInput {
  readonly report: CanonicalReport;
  readonly shape: Shape;
  /** In date order; one when the report is not split, or when it is bytes or a refusal. */
  readonly parts: readonly Entry[];
  readonly totals: Entry | null;
  readonly areTotalsOld?: boolean;
  readonly rules: FreshnessRules;
  readonly negativeMs: number;
  readonly nowMs: number;
  /** Set where it is from history. */
  readonly past: Past | null;
  readonly isRecorded: boolean;
  readonly expectedChange?: ExpectedChange | null;
  readonly leftOut: readonly string[];
  /** Columns that answers of the same report had before. */
  readonly seenColumns: ReadonlySet<string>;
}

/**
 * The answer without its body, which is made only when it is needed.
 * @throws GatewayError `upstream_rejected` with the platform's status, unless the platform's own bytes were asked for
 */
export function shapeAnswer(given: FinishInput): Assembled {
  const ask = { ...given, parts: settleNames(given.parts) };
  const { shape, parts, totals, rules, nowMs } = ask;
  const [main] = parts;
  if (main?.header.form === 'refusal') return refusalAnswer(main as Entry<RefusalHeader>, ask);
  checkFields(ask);
  if (main?.header.form === 'bytes') return assembleBytes(main as Entry<BytesHeader>, rules, nowMs);
  if (totals?.header.form === 'refusal') throw rejected(totals as Entry<RefusalHeader>);
  return assemble({
    report: ask.report,
    format: shape.format as Exclude<Format, 'raw'>,
    parts: parts as readonly Entry<RowsHeader>[],
    totals: totals as Entry<RowsHeader | BytesHeader> | null,
    areTotalsOld: ask.areTotalsOld ?? false,
    days: shape.days,
    bom: shape.bom,
    fields: shape.fields,
    nowMs,
    rules,
    past: ask.past,
    isRecorded: ask.isRecorded,
    expectedChange: ask.expectedChange ?? null,
    leftOut: ask.leftOut,
  });
}

/** @throws GatewayError `invalid_query` for columns that nobody knows */
function checkFields({ shape: { fields }, parts, seenColumns }: FinishInput): void {
  if (fields === null) return;
  const hasBytes = parts.some(({ header }) => header.form === 'bytes');
  const columns = parts.flatMap(({ header }) => (header.form === 'rows' ? header.columns : []));
  const errors = hasBytes
    ? [{ param: '_fields', message: 'goes with rows, and the platform answers this report without any' }]
    : fieldFaults(fields, [...new Set(columns)], seenColumns);
  if (errors.length === 0) return;
  const upstreamAccounts = [...new Set(parts.flatMap(({ header }) => header.accounts))];
  throw new GatewayError('invalid_query', { errors, upstreamAccounts });
}

function refusalAnswer(
  entry: Entry<RefusalHeader>,
  { shape, negativeMs, nowMs, rules }: FinishInput,
): Assembled {
  if (shape.format !== 'raw') throw rejected(entry);
  if (entry.header.tainted) throw invalid('the refusal holds the platform token');
  const answer = assembleBytes(entry, rules, nowMs);
  return {
    ...answer,
    freshUntilMs: entry.header.fetchedAt + rememberedForMs(entry.header, negativeMs),
    stale: false,
  };
}

function rejected({ header }: Entry<RefusalHeader>): GatewayError {
  const { status, upstream, accounts } = header;
  return new GatewayError('upstream_rejected', { status, upstream, upstreamAccounts: accounts });
}

/**
 * Makes the body; what is large is made on another thread, and stays in pieces.
 * @returns the plain body in pieces as well, where they are deflated already
 */
export async function finish(
  answer: Assembled,
  coding: Coding,
  from: Pick<Finished, 'checkFromMs' | 'madeOf'>,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<{ readonly finished: Finished; readonly pieces: BodyPieces | null }> {
  const made = answer.body();
  const pieces = 'deflated' in made ? made.deflated : null;
  const segments = coding === 'gzip' ? pieces : null;
  const body = compact(
    segments === null ? await makeBody(made, coding, workerPool) : joinSmall(joinGzip(segments)),
  );
  const finished = Object.assign(finishedOf(answer), {
    coding,
    ...from,
    isPieced: segments !== null,
    body,
    bytes: sizeOf(body),
  });
  return { finished, pieces };
}

/** Without what makes the body: that holds on to all that it is made from. */
function finishedOf({ body: _, ...shown }: Assembled): Omit<Assembled, 'body'> {
  return shown;
}

async function makeBody(
  made: Body,
  coding: Coding,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<readonly Buffer[]> {
  const plain = 'ready' in made ? made.ready : await format(made, workerPool);
  return compress(joinSmall(plain), coding);
}

/** A body of so many bytes is not copied. */
const LARGE_BYTES = 1_048_576;
/** A coding leaves its result in up to ten times the memory that it needs. */
const WASTE_FROM = 1.125;

function compact(body: readonly Buffer[]): readonly Buffer[] {
  const [only] = body;
  if (only === undefined || body.length > 1 || only.length >= LARGE_BYTES) return body;
  return only.length * WASTE_FROM > only.buffer.byteLength ? body : [inOwnMemory(only)];
}

/** A body that was joined of segments, compressed as a whole: half as large, for bodies that are sent more than once. */
export async function compressAnew(finished: Finished): Promise<Finished> {
  const plain = await inflate(Buffer.concat(finished.body));
  const body = compact(await compress([plain], 'gzip'));
  return { ...finished, body, bytes: sizeOf(body), isPieced: false };
}

const inflate = promisify<Buffer, Buffer>(gunzip);

async function format(
  made: Exclude<Body, { ready: unknown }>,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<readonly Buffer[]> {
  const { format, rows: chunks, rewrites, columns, fields, rowCount, bom, head, tail } = made;
  try {
    const rows = await workerPool.format({ format, chunks, rewrites, columns, fields, rowCount, bom });
    return format === 'json' ? [head, rows, tail] : [rows];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GatewayError('upstream_too_large', {
      detail: 'The report is too large for CSV; ask for JSON or NDJSON.',
      cause: error,
    });
  }
}

function joinSmall(pieces: readonly Buffer[]): readonly Buffer[] {
  const size = sizeOf(pieces);
  return pieces.length > 1 && size < LARGE_BYTES ? [Buffer.concat(pieces, size)] : pieces;
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Whether a finished body may still be sent as it is. */
export function isServable(
  finished: Omit<Finished, 'body'>,
  report: CanonicalReport,
  purges: Purges,
  maxAgeMs: number | null,
  nowMs: number,
): boolean {
  if (nowMs >= finished.freshUntilMs || finished.stale) return false;
  for (const { basis, held } of finished.madeOf) if (!isNewest(basis, held)) return false;
  // The clock was set back: what was fetched in its future is not to be told apart from what is old.
  if (finished.newestMs > nowMs + MAX_FUTURE_MS) return false;
  if (maxAgeMs !== null && (maxAgeMs === 0 || nowMs - finished.asOfMs > maxAgeMs)) return false;
  const { account, accounts, endpoint, from, to } = report;
  return !purges.isPurged({
    seq: finished.seq,
    advertiserId: account,
    named: accounts,
    held: finished.accounts,
    endpoint,
    from: from.iso,
    to: to.iso,
  });
}
