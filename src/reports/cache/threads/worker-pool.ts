/** Worker threads for what takes long, so that a cached hit never waits for somebody's miss. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { GatewayError } from '../../../errors.js';
import { PACKAGE_ROOT } from '../../../lib/package-root.js';
import { encodePart, type PartDay } from '../../days/part.js';
import type { FormatTask } from '../../rows/answer.js';
import type { DigestInput, DigestOutcome } from '../../rows/digest.js';
import { bodyHash } from '../../rows/entry.js';
import type { Page } from '../../tables/pages.js';
import { encodeEntry, type RawWrite } from '../entry.js';
import { asBuffer, formatRows, readAnswer, type TableTask, tableAnswer } from './tasks.js';
import type * as tasks from './worker.js';

// Estimates whether work on an answer would block the event loop for more than 5 ms: by its members, names and bytes, and by
// the rows and columns of a format. Pure, so that the same answer is always treated alike.

const LIMIT_NS = 5_000_000;

/**
 * Nanoseconds of warm code on one core of 3 GHz, measured by `npm run build && node bench/cells.mjs`: reading takes 490 for
 * a member (`{"date":"2026-11-01","id":7,"c":1}`), 9 more for a byte of ASCII and 15 for one of other text; CSV and
 * `_fields` 200 to 490 for a cell.
 */
const MEMBER_NS = 500;
const BYTE_NS = 15;
/** A name that no row before had makes another shape of rows: 4,400. */
const NAME_NS = 5_000;
/** Of a table with a list for each row, an empty cell too: 130. */
const CELL_NS = 130;
/** To deflate: 11 for a byte at most, 20,000 for an entry however small. */
const DEFLATED_BYTE_NS = 20;
const ENTRY_NS = 20_000;
/** In the header of an entry, about. */
const BYTES_PER_NAME = 16;

/** With fewer members no mixture of names takes 5 ms, so names are not counted. Most answers are that small. */
const FEW_MEMBERS = 1_000;

/** @param chunks JSON in pieces, whose commas are nearly its members */
export function isHeavyToRead(chunks: readonly Uint8Array[]): boolean {
  const { ns, members } = readingCost(chunks);
  if (ns > LIMIT_NS || members < FEW_MEMBERS) return ns > LIMIT_NS;
  return ns + namesIn(chunks) * NAME_NS > LIMIT_NS;
}

/** A table has a cell for each row and each name, filled or not. @param chunks as above */
export function isHeavyToTable(chunks: readonly Uint8Array[]): boolean {
  const { ns, members } = readingCost(chunks);
  const rows = count(chunks, BRACE);
  if (ns > LIMIT_NS || rows * members * CELL_NS <= LIMIT_NS) return ns > LIMIT_NS;
  return ns + rows * namesIn(chunks) * CELL_NS > LIMIT_NS;
}

/** Rows are parsed for a table, for `_fields`, and to write numbers as texts; else their text is copied. */
export function isHeavyToFormat(task: FormatTask): boolean {
  const { format, chunks, rewrites = [], columns, fields = null, rowCount } = task;
  const isParsed = format === 'csv' || fields !== null || rewrites.some((rewrite) => rewrite !== null);
  const cells = isParsed ? rowCount * columns.length : 0;
  return cells * MEMBER_NS + sizeOf(chunks) * BYTE_NS > LIMIT_NS;
}

/** Every day of an answer lists all of its accounts, and rows may have many columns. */
export function isHeavyToEncode(entries: readonly Pick<RawWrite, 'header' | 'body'>[]): boolean {
  let bytes = 0;
  for (const { header, body } of entries) {
    bytes += body.length;
    for (const value of Object.values(header))
      if (Array.isArray(value)) bytes += value.length * BYTES_PER_NAME;
  }
  return entries.length * ENTRY_NS + bytes * DEFLATED_BYTE_NS > LIMIT_NS;
}

const COMMA = 0x2c;
const BRACE = 0x7b;

function readingCost(chunks: readonly Uint8Array[]): { readonly ns: number; readonly members: number } {
  const ns = sizeOf(chunks) * BYTE_NS;
  const members = ns > LIMIT_NS ? 0 : count(chunks, COMMA);
  return { ns: ns + members * MEMBER_NS, members };
}

function count(chunks: readonly Uint8Array[], byte: number): number {
  let found = 0;
  for (const chunk of chunks)
    for (let at = chunk.indexOf(byte); at >= 0; at = chunk.indexOf(byte, at + 1)) found += 1;
  return found;
}

/** Different texts in front of a colon. */
function namesIn(chunks: readonly Uint8Array[]): number {
  return new Set(
    Buffer.concat(chunks)
      .toString('latin1')
      .match(/"[^"\\]*"(?=\s*:)/g),
  ).size;
}

function sizeOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/** A thread needs the build, in tests too, where the sources run as they are. */
const WORKER = fileURLToPath(new URL('dist/workers/worker.js', PACKAGE_ROOT));

export type WorkerPool = ReturnType<typeof createWorkerPool>;

export function createWorkerPool() {
  let threads: Piscina | null = null;
  /** Threads start with the first task that needs one: many gateways never have one. */
  const run = <T extends keyof typeof tasks>(
    name: T,
    input: Parameters<(typeof tasks)[T]>[0],
  ): Promise<ReturnType<(typeof tasks)[T]>> => {
    threads ??= new Piscina({
      filename: WORKER,
      minThreads: 0,
      // One core stays with the requests.
      maxThreads: Math.max(1, availableParallelism() - 1),
      idleTimeout: 30_000,
    });
    return threads.run(input, { name });
  };

  return {
    /**
     * @param chunks the answer in pieces, in order
     * @returns `bytes`: the answer in one piece; none of a large one of which only days are wanted. `hash`: their digest;
     * empty when only days are wanted
     */
    async digest(
      chunks: readonly Buffer[],
      ask: DigestInput,
      token: string,
    ): Promise<{ readonly outcome: DigestOutcome; readonly bytes: Buffer; readonly hash: string }> {
      if (!isHeavyToRead(chunks)) {
        const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        return { bytes, outcome: readAnswer(bytes, ask, token), hash: ask.whole ? bodyHash(bytes) : '' };
      }
      const { outcome, bytes, hash } = await run('digest', { chunks, ask, token });
      return { outcome: withBuffers(outcome), bytes: asBuffer(bytes), hash };
    },
    /** @returns cache entries, in the same order */
    async encode(entries: readonly RawWrite[]): Promise<Buffer[]> {
      return isHeavyToEncode(entries)
        ? (await run('encode', entries)).map(asBuffer)
        : entries.map(encodeEntry);
    },
    /** @returns a part as bytes */
    async encodePart(days: readonly PartDay[]): Promise<Buffer> {
      return isHeavyToEncode(days) ? asBuffer(await run('encodeRows', days)) : encodePart(days);
    },
    /** @throws RangeError when a table would be out of proportion to its rows */
    async format(task: FormatTask): Promise<Buffer> {
      return isHeavyToFormat(task) ? asBuffer(await run('format', task)) : formatRows(task);
    },
    /** @throws GatewayError where the answer makes no table, or none that fits */
    async table(task: TableTask): Promise<Page> {
      const made = isHeavyToTable(task.chunks) ? await run('tableAnswer', task) : tableAnswer(task);
      if (made.kind === 'page') return made.page;
      throw new GatewayError(made.code, made.options);
    },
    async close(): Promise<void> {
      await threads?.close();
    },
  };
}

/** Buffers come from another thread as plain byte arrays. */
function withBuffers(outcome: DigestOutcome): DigestOutcome {
  if (outcome.kind !== 'digest') return outcome;
  const { digest } = outcome;
  return {
    kind: 'digest',
    digest: {
      ...digest,
      whole: digest.whole === null ? null : { ...digest.whole, body: asBuffer(digest.whole.body) },
      days: digest.days?.map((day) => ({ ...day, body: asBuffer(day.body) })) ?? null,
    },
  };
}
