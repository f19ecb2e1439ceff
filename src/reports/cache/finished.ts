/**
 * Finished answers, and those of them in memory. An answer may never be requested again, so it is deflated there, to a
 * quarter of its size. The next request inflates it, in about 30 µs, and from then on it stays as it is sent.
 */
import { promisify } from 'node:util';
import { deflateRawSync, gunzip, inflateRawSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../errors.js';
import { inOwnMemory } from '../../lib/own-memory.js';
import { nextTurn } from '../../lib/time.js';
import type { Report } from '../query/canonicalize.js';
import type { Coding } from '../query/output-options.js';
import type { Query } from '../query.js';
import type { ReportQuestion } from '../question.js';
import { AT_ONCE_BYTES, type ReportReply } from '../report-call.js';
import type { AnswerHead, Body } from '../rows/answer.js';
import { compress } from '../rows/compress.js';
import type { BodyPieces } from '../rows/entry.js';
import { MAX_FUTURE_MS } from '../rows/freshness.js';
import { joinDeflate, joinGzip } from '../rows/join-gzip.js';
import type { Purges } from './purges.js';
import { isNewest, type MadeOf } from './replacements.js';
import type { WorkerPool } from './threads/worker-pool.js';

/** An answer with its body. */
export interface Finished extends AnswerHead {
  readonly coding: Coding;
  /** For an answer of days: when its next check is due, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** Its rows, and its totals. */
  readonly madeOf: readonly MadeOf[];
  /** Joined from pieces that were deflated one by one: about twice as large as it could be. */
  readonly isPieced: boolean;
  /** In pieces, in order; one unless it is large. */
  readonly body: readonly Buffer[];
  /** Size of `body`, for the memory bound. */
  readonly bytes: number;
  /** Plain size where `body` is deflated to save memory; null where it can be sent. */
  readonly inflatesTo: number | null;
  /** Replies that were composed of it, for the next requests. */
  replies: Replies | null;
}

/** Both replies of an answer, for the time in which its age and lifetime in seconds stay the same. */
export interface Replies {
  readonly query: Query;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly whole: ReportReply;
  readonly notModified: ReportReply;
}

/**
 * Makes the body; a large one on another thread, and in pieces.
 * @returns also the pieces of the plain body where they are deflated already
 */
export async function finish(
  head: AnswerHead,
  body: Body,
  coding: Coding,
  from: Pick<Finished, 'checkFromMs' | 'madeOf'>,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<{ readonly finished: Finished; readonly pieces: BodyPieces | null }> {
  const pieces = 'deflated' in body ? body.deflated : null;
  const segments = coding === 'gzip' ? pieces : null;
  const plain = 'ready' in body ? body.ready : await formatRows(body, workerPool);
  const made = segments === null ? await compress(joinSmall(plain), coding) : joinSmall(joinGzip(segments));
  const compacted = compact(made);
  const finished = Object.assign(
    { coding, ...from, isPieced: segments !== null, body: compacted, bytes: sizeOf(compacted) },
    { inflatesTo: null, replies: null },
    head,
  );
  return { finished, pieces };
}

async function formatRows(
  body: Exclude<Body, { ready: unknown }>,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<readonly Buffer[]> {
  const { head, tail, task } = body;
  try {
    const rows = await workerPool.format(task);
    return task.format === 'json' ? [head, rows, tail] : [rows];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GatewayError('upstream_too_large', {
      detail: 'The report is too large for CSV; request JSON or NDJSON.',
      cause: error,
    });
  }
}

/** A body of this size is not copied. */
const LARGE_BYTES = 1_048_576;
/** Compression leaves its result in up to ten times the memory that it needs. */
const WASTE_FROM = 1.125;

function compact(body: readonly Buffer[]): readonly Buffer[] {
  const [only] = body;
  if (only === undefined || body.length > 1 || only.length >= LARGE_BYTES) return body;
  return only.length * WASTE_FROM > only.buffer.byteLength ? body : [inOwnMemory(only)];
}

function joinSmall(pieces: readonly Buffer[]): readonly Buffer[] {
  const size = sizeOf(pieces);
  return pieces.length > 1 && size < LARGE_BYTES ? [Buffer.concat(pieces, size)] : pieces;
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** The same answer with its body in another form. */
function withBody(
  finished: Finished,
  body: readonly Buffer[],
  changes: Partial<Pick<Finished, 'inflatesTo' | 'isPieced'>>,
): Finished {
  return Object.assign({}, finished, { body, bytes: sizeOf(body), replies: null }, changes);
}

/** A body that was joined from segments, compressed as a whole: half the size, for bodies that are sent repeatedly. */
async function compressAnew(finished: Finished): Promise<Finished> {
  const plain = await promisify<Buffer, Buffer>(gunzip)(Buffer.concat(finished.body));
  return withBody(finished, compact(await compress([plain], 'gzip')), { isPieced: false });
}

/** Deflating smaller bodies gains nothing; larger ones would block the event loop for too long. */
const [PACK_FROM_BYTES, PACK_TO_BYTES] = [1024, AT_ONCE_BYTES];
/** A body that becomes hardly smaller is not worth inflating. */
const WORTH_PART = 0.75;

/**
 * Deflates the body. What is compressed already would not become smaller.
 * @param pieces of the body as they are stored, deflated, to be joined; null where they are not
 * @returns the answer itself where deflating it gains little
 */
export function pack(finished: Finished, pieces: BodyPieces | null): Finished {
  const { coding, body, bytes } = finished;
  const [only] = body;
  if (only === undefined || body.length > 1 || coding !== 'identity') return finished;
  if (bytes < PACK_FROM_BYTES || bytes > PACK_TO_BYTES) return finished;
  const deflated =
    pieces === null ? [deflateRawSync(only, { level: 1, chunkSize: bytes })] : joinDeflate(pieces);
  const size = sizeOf(deflated);
  if (size > bytes * WORTH_PART) return finished;
  return withBody(finished, [inOwnMemory(Buffer.concat(deflated, size))], { inflatesTo: bytes });
}

/** @returns the answer as it can be sent */
export function unpack(finished: Finished): Finished {
  const { body, inflatesTo } = finished;
  if (inflatesTo === null) return finished;
  const plain = inflateRawSync(body[0] as Buffer, { chunkSize: inflatesTo + 1 });
  return withBody(finished, [plain], { inflatesTo: null });
}

/** Whether an answer in memory may still be sent. */
export function isServable(
  finished: Omit<Finished, 'body'>,
  report: Report,
  purges: Purges,
  maxAgeMs: number | null,
  nowMs: number,
): boolean {
  if (nowMs >= finished.freshUntilMs || finished.stale) return false;
  for (const { basis, held } of finished.madeOf) if (!isNewest(basis, held)) return false;
  // The clock was set back: an answer from its future cannot be told from an old one.
  if (finished.newestMs > nowMs + MAX_FUTURE_MS) return false;
  if (maxAgeMs !== null && (maxAgeMs === 0 || nowMs - finished.asOfMs > maxAgeMs)) return false;
  const { account, accounts, endpoint, from, to } = report;
  return !purges.isPurged({
    seq: finished.seq,
    advertiserId: account,
    named: accounts,
    held: finished.accounts,
    endpoint,
    from,
    to,
  });
}

export type L1 = ReturnType<typeof createL1>;

/** Memory of an answer beside its body, measured: key, members, list links. */
const OVERHEAD_BYTES = 1024;

/** Answers in memory, bounded by bytes; the least recently used go first. */
export function createL1(maxBytes: number) {
  const cache = new LRUCache<string, Finished>({
    maxSize: maxBytes,
    // One body may take a quarter at most, or a single large report would push out everything else.
    maxEntrySize: Math.floor(maxBytes / 4),
    sizeCalculation: (value) => value.bytes + OVERHEAD_BYTES,
  });
  return {
    get: (key: string) => cache.get(key),
    set: (key: string, value: Finished) => void cache.set(key, value),
    get bytes() {
      return cache.calculatedSize;
    },
    get entries() {
      return cache.size;
    },
  };
}

export type AnswerMemory = ReturnType<typeof createAnswerMemory>;

export function createAnswerMemory({
  l1,
  purges,
  now,
  onCheckDue,
  background,
}: {
  readonly l1: L1;
  readonly purges: Purges;
  readonly now: () => number;
  /** Called for every answer of days from memory whose check is due. Must cost nearly nothing. */
  readonly onCheckDue: (question: ReportQuestion) => void;
  readonly background: (work: Promise<unknown>) => void;
}) {
  let isCompressing = false;
  /** Makes a body that was requested again smaller, behind its answer, one at a time. */
  function compressBehind(key: string, finished: Finished): void {
    if (isCompressing) return;
    isCompressing = true;
    const work = compressAnew(finished)
      .then((smaller) => {
        // Unless another answer took its place meanwhile.
        if (l1.get(key) === finished) l1.set(key, smaller);
      })
      .finally(() => {
        isCompressing = false;
      });
    background(work);
  }

  return {
    /** @returns an answer that may be sent now; call {@link used} when it is */
    find(key: string, report: Report, maxAgeMs: number | null): Finished | null {
      const held = l1.get(key);
      if (held === undefined || !isServable(held, report, purges, maxAgeMs, now())) return null;
      const finished = unpack(held);
      if (finished !== held) l1.set(key, finished);
      if (finished.isPieced) compressBehind(key, finished);
      return finished;
    },
    used(question: ReportQuestion, { checkFromMs }: Finished): void {
      if (checkFromMs !== null && now() >= checkFromMs) onCheckDue(question);
    },
    /** @param pieces see {@link pack} */
    keep(key: string, finished: Finished, pieces: BodyPieces | null): void {
      if (finished.status !== 200 || finished.stale) return;
      l1.set(key, finished);
      // After the answer was sent.
      nextTurn(() => {
        if (l1.get(key) === finished) l1.set(key, pack(finished, pieces));
      });
    },
  };
}
