/**
 * Finished answers, and the answers in memory. In memory an answer is deflated to a quarter of its size until it is
 * requested again; the next request inflates it in about 30 µs, and it stays inflated.
 */
import { promisify } from 'node:util';
import { gunzip, inflateRawSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../errors.js';
import { deflateSmall } from '../../lib/deflate.js';
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
import { subjectOf } from './look-up.js';
import type { Purges } from './purges.js';
import { isNewest, type MadeOf } from './replacements.js';
import type { WorkerPool } from './threads/worker-pool.js';

/** An answer with its body. */
export interface Finished extends AnswerHead {
  readonly coding: Coding;
  /** For an answer joined from days: when its next cross-check is due, epoch milliseconds. */
  readonly checkFromMs: number | null;
  /** Of its rows and its totals. */
  readonly madeOf: readonly MadeOf[];
  /** Joined from separately deflated pieces: about twice the optimal size. */
  readonly isPieced: boolean;
  /** In pieces, in order; one unless it is large. */
  readonly body: readonly Buffer[];
  /** Size of `body`, for the memory bound. */
  readonly bytes: number;
  /** Plain size where `body` is deflated to save memory; null where it can be sent. */
  readonly inflatesTo: number | null;
  /** Composed replies, for the next requests. */
  replies: Replies | null;
  /** Requests for reports of its endpoint and account. */
  readonly asked: Asked;
}

/** Requests answered since the start of the process, by endpoint and account. */
export interface Asked extends Pick<Report, 'endpoint' | 'account'> {
  requests: number;
  /** From the cache, memory or store. */
  hits: number;
}

/** Both replies of an answer, valid while its age and lifetime in seconds are unchanged. */
export interface Replies {
  readonly query: Query;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly whole: ReportReply;
  readonly notModified: ReportReply;
}

/**
 * Builds the body; a large one on another thread, in pieces.
 * @returns also the pieces of the plain body if they are already deflated
 */
export async function finish(
  head: AnswerHead,
  body: Body,
  coding: Coding,
  from: Pick<Finished, 'checkFromMs' | 'madeOf' | 'asked'>,
  workerPool: Pick<WorkerPool, 'format'>,
): Promise<{ readonly finished: Finished; readonly pieces: BodyPieces | null }> {
  const pieces = 'deflated' in body ? body.deflated : null;
  const segments = coding === 'gzip' ? pieces : null;
  const plain = 'ready' in body ? body.ready : await formatRows(body, workerPool);
  const made = segments === null ? await compress(joinSmall(plain), coding) : joinSmall(joinGzip(segments));
  const compacted = compact(made);
  // Spread: Object.assign would make a dictionary of so many members, which is larger, and which each hit would read slowly.
  const finished = {
    ...head,
    coding,
    ...from,
    isPieced: segments !== null,
    body: compacted,
    bytes: sizeOf(compacted),
    inflatesTo: null,
    replies: null,
  };
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
/** Compression may leave its result in a buffer ten times as large. */
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

function withBody(
  finished: Finished,
  body: readonly Buffer[],
  changes: Partial<Pick<Finished, 'inflatesTo' | 'isPieced'>>,
): Finished {
  return { ...finished, body, bytes: sizeOf(body), replies: null, ...changes };
}

/** Recompresses a body joined from segments as a whole: half the size, for repeated use. */
async function compressAnew(finished: Finished): Promise<Finished> {
  const plain = await promisify<Buffer, Buffer>(gunzip)(Buffer.concat(finished.body));
  return withBody(finished, compact(await compress([plain], 'gzip')), { isPieced: false });
}

/** Smaller bodies gain nothing; larger ones would block the event loop too long. */
const [PACK_FROM_BYTES, PACK_TO_BYTES] = [1024, AT_ONCE_BYTES];
/** Deflate only if the result is at most this share of the size. */
const WORTH_PART = 0.75;

/**
 * Deflates an uncompressed body.
 * @param pieces of the body, stored deflated, to be joined; null if not deflated
 * @returns the answer itself if deflating gains little
 */
export function pack(finished: Finished, pieces: BodyPieces | null): Finished {
  const { coding, body, bytes } = finished;
  const [only] = body;
  if (only === undefined || body.length > 1 || coding !== 'identity') return finished;
  if (bytes < PACK_FROM_BYTES || bytes > PACK_TO_BYTES) return finished;
  const deflated = pieces === null ? [deflateSmall(only, 1)] : joinDeflate(pieces);
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

/** Whether an answer in memory may be served. */
export function isServable(
  finished: Omit<Finished, 'body'>,
  report: Report,
  purges: Purges,
  maxAgeMs: number | null,
  nowMs: number,
): boolean {
  if (nowMs >= finished.freshUntilMs || finished.stale) return false;
  for (const { basis, held } of finished.madeOf) if (!isNewest(basis, held)) return false;
  // After a clock was set back, an answer from the future may be old.
  if (finished.newestMs > nowMs + MAX_FUTURE_MS) return false;
  if (maxAgeMs !== null && (maxAgeMs === 0 || nowMs - finished.asOfMs > maxAgeMs)) return false;
  // Made since the newest purge.
  if (finished.seq === purges.seq) return true;
  return purges.expiredAt(subjectOf({ header: finished }, report, report)) === null;
}

export type L1 = ReturnType<typeof createL1>;

/** Measured memory of an answer without its body: key, members, list links. */
const OVERHEAD_BYTES = 1024;

/** Further endpoints and accounts share one count. */
const MAX_ASKED = 1000;
const REST = ['others', { endpoint: 'others', account: null }] as const;

/** LRU of answers in memory, bounded by bytes. */
export function createL1(maxBytes: number) {
  const cache = new LRUCache<string, Finished>({
    maxSize: maxBytes,
    // At most a quarter per body, so that one large report does not evict everything else.
    maxEntrySize: Math.floor(maxBytes / 4),
    sizeCalculation: (value) => value.bytes + OVERHEAD_BYTES,
  });
  const all = new Map<string, Asked>();
  return {
    /** @returns the counts of its endpoint and account */
    askedOf({ endpoint, account }: Pick<Report, 'endpoint' | 'account'>): Asked {
      const name = `${endpoint} ${account}`;
      const [key, about] = all.has(name) || all.size < MAX_ASKED ? [name, { endpoint, account }] : REST;
      const known = all.get(key) ?? { ...about, requests: 0, hits: 0 };
      all.set(key, known);
      return known;
    },
    /** All counts, with their answers in memory and the time at which the first of these expires. The biggest come first. */
    summary(nowMs: number) {
      const held = new Map(
        [...all.values()].map((asked) => [asked, { answers: 0, bytes: 0, untilMs: Infinity }]),
      );
      for (const { asked, bytes, freshUntilMs } of cache.values()) {
        const sum = held.get(asked) as { answers: number; bytes: number; untilMs: number };
        sum.answers += 1;
        sum.bytes += bytes + OVERHEAD_BYTES;
        if (freshUntilMs > nowMs) sum.untilMs = Math.min(sum.untilMs, freshUntilMs);
      }
      return [...held].map(([asked, sum]) => ({ ...asked, ...sum })).sort((a, b) => b.bytes - a.bytes);
    },
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
  onCheckDue,
  background,
}: {
  readonly l1: L1;
  readonly purges: Purges;
  /** Called for every answer from memory whose cross-check is due. Must be cheap. */
  readonly onCheckDue: (question: ReportQuestion) => void;
  readonly background: (work: Promise<unknown>) => void;
}) {
  let isCompressing = false;
  /** Recompresses a repeatedly requested body in the background, one at a time. */
  function compressBehind(key: string, finished: Finished): void {
    if (isCompressing) return;
    isCompressing = true;
    const work = compressAnew(finished)
      .then((smaller) => {
        // Unless it was replaced meanwhile.
        if (l1.get(key) === finished) l1.set(key, smaller);
      })
      .finally(() => {
        isCompressing = false;
      });
    background(work);
  }

  return {
    /** @returns an answer that may be served; call {@link used} when it is */
    find(key: string, report: Report, maxAgeMs: number | null, nowMs: number): Finished | null {
      const held = l1.get(key);
      if (held === undefined || !isServable(held, report, purges, maxAgeMs, nowMs)) return null;
      const finished = unpack(held);
      if (finished !== held) l1.set(key, finished);
      if (finished.isPieced) compressBehind(key, finished);
      return finished;
    },
    askedOf: l1.askedOf,
    used(question: ReportQuestion, { checkFromMs, asked }: Finished, nowMs: number): void {
      asked.requests += 1;
      asked.hits += 1;
      if (checkFromMs !== null && nowMs >= checkFromMs) onCheckDue(question);
    },
    /** @param pieces see {@link pack} */
    keep(key: string, finished: Finished, pieces: BodyPieces | null): void {
      if (finished.status !== 200 || finished.stale) return;
      l1.set(key, finished);
      // After the answer is sent.
      nextTurn(() => {
        if (l1.get(key) === finished) l1.set(key, pack(finished, pieces));
      });
    },
  };
}

/**
 * A copy in its own memory, for long-lived bytes: a slice keeps its whole buffer alive, such as zlib's output or Node's
 * pool of small buffers.
 */
function inOwnMemory(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
