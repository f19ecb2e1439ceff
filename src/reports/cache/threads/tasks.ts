/** Work for other threads: plain functions over bytes. Large data is in shared memory, so that neither side copies it. */

import { type ErrorCode, GatewayError, type GatewayErrorOptions } from '../../../errors.js';
import { holdsToken } from '../../../platform/scrub.js';
import { encodePart, type PartDay } from '../../days/part.js';
import type { FormatTask } from '../../rows/answer.js';
import {
  type DayBlock,
  type DigestInput,
  type DigestOutcome,
  digestBytes,
  type RowBlock,
} from '../../rows/digest.js';
import { bodyHash, ROW_SEPARATOR, rewriteBody } from '../../rows/entry.js';
import { projectRows, toCsv, toNdjson } from '../../rows/row-formats.js';
import { answerTable, type TableRequest } from '../../tables/answer-table.js';
import { type Page, type PageAsk, pageOf } from '../../tables/pages.js';
import { encodeEntry, type RawWrite } from '../entry.js';

export interface TableTask {
  /** An answer of the gateway as JSON, in pieces, in order. */
  readonly chunks: readonly Uint8Array[];
  readonly ask: TableRequest;
  readonly page: PageAsk;
}

/** @returns cache entries in memory that both threads see */
export function encode(entries: readonly (Omit<RawWrite, 'body'> & { readonly body: Uint8Array })[]) {
  return entries.map((entry) => shared([encodeEntry({ ...entry, body: asBuffer(entry.body) })]));
}

/** @returns a part in memory that both threads see */
export function encodeRows(
  days: readonly (Omit<PartDay, 'body'> & { readonly body: Uint8Array })[],
): Uint8Array {
  return shared([encodePart(days.map((day) => ({ ...day, body: asBuffer(day.body) })))]);
}

/** A page of a table, or why there is none: an error loses its members on its way between threads. */
export type TabledAnswer =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly options: GatewayErrorOptions };

export function tableAnswer({ chunks, ask, page }: TableTask): TabledAnswer {
  try {
    return { kind: 'page', page: pageOf(answerTable(Buffer.concat(chunks).toString(), ask), page) };
  } catch (error) {
    if (error instanceof GatewayError) return { kind: 'refused', code: error.code, options: error.options };
    throw error;
  }
}

export function format(task: FormatTask): Uint8Array {
  return shared([formatRows(task)]);
}

/** @throws RangeError when a table would be out of proportion to its rows */
export function formatRows({
  format,
  chunks,
  rewrites = [],
  columns,
  fields = null,
  bom,
}: FormatTask): Buffer {
  const pieces = chunks.map((chunk, at) => rewriteBody(asBuffer(chunk), rewrites[at] ?? null));
  const rows = Buffer.concat(pieces);
  if (format === 'json' && fields === null) return rows;
  const whole = rows.toString('utf8');
  if (format === 'csv') return Buffer.from(toCsv(whole, fields ?? columns, { bom }));
  const text = fields === null ? whole : projectRows(whole, fields, ROW_SEPARATOR);
  return Buffer.from(format === 'json' ? text : toNdjson(text));
}

/**
 * Parses the bytes of an answer.
 * @param token an answer that contains it is refused, in plain spelling or in JSON escapes
 */
export function readAnswer(bytes: Uint8Array, ask: DigestInput, token: string): DigestOutcome {
  if (holdsToken(asBuffer(bytes), token))
    return { kind: 'invalid', reason: 'the answer contains the platform token' };
  return digestBytes(bytes, ask, (text) => holdsToken(text, token));
}

/** @param chunks the answer in pieces, in order. @returns what was read, with the answer's bytes and their digest */
export function digest({
  chunks,
  ask,
  token,
}: {
  readonly chunks: readonly Uint8Array[];
  readonly ask: DigestInput;
  readonly token: string;
}): { readonly outcome: DigestOutcome; readonly bytes: Uint8Array; readonly hash: string } {
  // Shared memory counts for both threads, until both have collected it.
  const bytes = ask.whole ? shared(chunks) : Buffer.concat(chunks);
  const outcome = readAnswer(bytes, ask, token);
  const hash = ask.whole ? bodyHash(asBuffer(bytes)) : '';
  return {
    bytes: ask.whole ? bytes : shared([]),
    hash,
    outcome: outcome.kind === 'digest' ? { kind: 'digest', digest: shareBlocks(outcome.digest) } : outcome,
  };
}

/** Puts all blocks of rows into one piece of shared memory. Days that are parts of the whole are not copied again. */
function shareBlocks<
  T extends { readonly whole: RowBlock | null; readonly days: readonly DayBlock[] | null },
>(digest: T): T {
  const { whole } = digest;
  const days = (digest.days ?? []).map((day) => day.body);
  const places = placesIn(whole?.body ?? NOTHING, days);
  const memory = shared([whole?.body ?? NOTHING, ...days.filter((_, at) => places[at] === null)]);
  let end = whole?.body.length ?? 0;
  const take = (at: number, length: number): Buffer =>
    Buffer.from(memory.buffer, memory.byteOffset + at, length);
  const takeDay = (day: DayBlock, at: number): DayBlock => {
    const place = places[at] ?? null;
    const body = take(place ?? end, day.body.length);
    if (place === null) end += body.length;
    return { ...day, body };
  };
  return {
    ...digest,
    whole: whole === null ? null : { ...whole, body: take(0, whole.body.length) },
    days: digest.days?.map(takeDay) ?? null,
  };
}

const NOTHING = Buffer.alloc(0);

/** Where each part starts in the whole, if they follow each other there; null from the first that does not. */
function placesIn(whole: Buffer, parts: readonly Buffer[]): (number | null)[] {
  let at = 0;
  return parts.map((part) => {
    const place = at;
    if (part.length > 0) at += part.length + ROW_SEPARATOR.length;
    const end = place + part.length;
    return end <= whole.length && whole.compare(part, 0, part.length, place, end) === 0 ? place : null;
  });
}

/** The concatenated pieces, in memory that both threads see. */
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
