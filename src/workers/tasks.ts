/**
 * What is done on other threads: plain functions over bytes. Everything large travels in shared memory, so that
 * neither side copies it.
 */
import { encodeEntry, type RawWrite } from '../cache/entry.js';
import { holdsToken } from '../platform/scrub.js';
import type { Rewrite } from '../report/column-types.js';
import { toCsv } from '../report/csv.js';
import {
  type DayBlock,
  type DigestInput,
  type DigestOutcome,
  digestBytes,
  type RowBlock,
} from '../report/digest.js';
import { bodyHash, rewriteBody } from '../report/entry.js';
import { toNdjson } from '../report/ndjson.js';

export interface DigestTask {
  readonly task: 'digest';
  /** The answer in pieces, in order. */
  readonly chunks: readonly Uint8Array[];
  readonly ask: DigestInput;
  readonly token: string;
}

export interface EncodeTask {
  readonly task: 'encode';
  readonly entries: readonly (Omit<RawWrite, 'body'> & { readonly body: Uint8Array })[];
}

export interface FormatTask {
  readonly task: 'format';
  /** json: the rows alone, as they are or rewritten. */
  readonly format: 'json' | 'csv' | 'ndjson';
  /** The joined rows, in pieces. */
  readonly chunks: readonly Uint8Array[];
  /** For each piece, what has to be rewritten; a piece with something is whole rows. Absent: nothing. */
  readonly rewrites?: readonly (Rewrite | null)[];
  readonly columns: readonly string[];
  readonly rowCount: number;
  readonly bom: boolean;
}

export type Task = DigestTask | EncodeTask | FormatTask;

/** An outcome with the answer's own bytes and their digest beside it. */
export interface DigestedAnswer {
  readonly outcome: DigestOutcome;
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/** A cache entry, in memory that both threads see. */
export interface EncodedBytes {
  readonly header: Uint8Array;
  readonly body: Uint8Array;
  readonly facts: Uint8Array;
}

export function runTask(task: Task): DigestedAnswer | Uint8Array | EncodedBytes[] {
  switch (task.task) {
    case 'digest':
      return digest(task);
    case 'encode':
      return task.entries.map(({ body, ...entry }) => {
        const encoded = encodeEntry({ ...entry, body: asBuffer(body) });
        return {
          header: shared([encoded.header]),
          body: shared([encoded.body]),
          facts: shared([encoded.facts]),
        };
      });
    case 'format':
      return shared([formatRows(task)]);
  }
}

/** @throws RangeError when a table would be out of proportion to its rows */
export function formatRows({
  format,
  chunks,
  rewrites = [],
  columns,
  bom,
}: Omit<FormatTask, 'task'>): Buffer {
  const pieces = chunks.map((chunk, at) => rewriteBody(asBuffer(chunk), rewrites[at] ?? null));
  const rows = Buffer.concat(pieces);
  if (format === 'json') return rows;
  const text = rows.toString('utf8');
  return Buffer.from(format === 'csv' ? toCsv(text, columns, { bom }) : toNdjson(text));
}

/**
 * Reads an answer's bytes.
 * @param token must be nowhere in it, spelt plainly or by JSON escapes
 */
export function readAnswer(bytes: Uint8Array, ask: DigestInput, token: string): DigestOutcome {
  if (holdsToken(asBuffer(bytes), token))
    return { kind: 'invalid', reason: 'the answer holds the platform token' };
  return digestBytes(bytes, ask, (text) => holdsToken(text, token));
}

function digest({ chunks, ask, token }: DigestTask): DigestedAnswer {
  const bytes = shared(chunks);
  const outcome = readAnswer(bytes, ask, token);
  const hash = ask.whole ? bodyHash(asBuffer(bytes)) : '';
  return {
    bytes,
    hash,
    outcome: outcome.kind === 'digest' ? { kind: 'digest', digest: shareBlocks(outcome.digest) } : outcome,
  };
}

/** All blocks of rows in one piece of shared memory. */
function shareBlocks<
  T extends { readonly whole: RowBlock | null; readonly days: readonly DayBlock[] | null },
>(digest: T): T {
  const days = digest.days ?? [];
  const memory = shared([
    ...(digest.whole === null ? [] : [digest.whole.body]),
    ...days.map(({ body }) => body),
  ]);
  let at = 0;
  const take = (length: number): Buffer => {
    const slice = Buffer.from(memory.buffer, memory.byteOffset + at, length);
    at += length;
    return slice;
  };
  return {
    ...digest,
    whole: digest.whole === null ? null : { ...digest.whole, body: take(digest.whole.body.length) },
    days: digest.days === null ? null : days.map((day) => ({ ...day, body: take(day.body.length) })),
  };
}

/** The pieces, one behind the other, in memory that both threads see. */
function shared(pieces: readonly Uint8Array[]): Uint8Array {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const memory = new Uint8Array(new SharedArrayBuffer(length));
  let at = 0;
  for (const piece of pieces) {
    memory.set(piece, at);
    at += piece.length;
  }
  return memory;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
