/**
 * Cache entries as records of an ordered environment. The keys:
 * `e` series · group · field: an entry: length of its head (1 byte) · head · body; of a large one: 0 · length of its
 * head · head · name of its body
 * `f` series · digest: facts: their end (6 bytes) · their bytes
 * `p` name of a body (10 bytes) · number (2 bytes): a piece of it; see read-entries.ts
 * `x` end (6 bytes) · key of one of these, or what those of a body's pieces begin with: how many bytes it takes (4 bytes)
 *
 * Of several entries of one series those of a range of days are neighbours. The index of ends tells what is over, and
 * what ends next, without reading any entry.
 */
import { readStamp, type Stamp } from '../entry-stamp.js';
import type { CachePlace } from '../port.js';

const ENTRY = Buffer.from('e');
const FACTS = Buffer.from('f');
/** Of a body; see read-entries.ts. */
export const PIECE = Buffer.from('p');
const END = Buffer.from('x');
const TIME_BYTES = 6;
const SIZE_BYTES = 4;
/** In the place of the length of a head, which is never 0. */
const LARGE = 0;
const PAGE_BYTES = 4096;
/** A record above about half a page has pages of its own. */
const OWN_PAGES_ABOVE = 2000;
/** What a record takes beside its bytes, about. */
const OVERHEAD_BYTES = 32;

export function entryKey({ series, group, field }: CachePlace): Buffer {
  return Buffer.concat([ENTRY, ...[series, group, field].map(element)]);
}

/** @param digest hexadecimal */
export function factsKey(series: string, digest: string): Buffer {
  return Buffer.concat([FACTS, element(series), Buffer.from(digest, 'hex')]);
}

/** @param key of the record that ends then */
export function endKey(endsAtMs: number, key: Buffer): Buffer {
  return Buffer.concat([END, timeBytes(endsAtMs), key]);
}

/** Keys of the index, from the earliest end on. @param after exclusive */
export function endsAfter(after: Buffer | null): { readonly from: Buffer; readonly to: Buffer } {
  const to = Buffer.from([(END[0] as number) + 1]);
  return { from: after === null ? END : Buffer.concat([after, Buffer.of(0)]), to };
}

/** @returns what a key of the index says */
export function readEnd(key: Buffer): { readonly endsAtMs: number; readonly of: Buffer } {
  const from = END.length;
  return { endsAtMs: key.readUIntBE(from, TIME_BYTES), of: key.subarray(from + TIME_BYTES) };
}

/**
 * A record of the index: what a record takes on the disk, with that of the index.
 * @param valueBytes length of the record's value
 */
export function encodeEnd(key: Buffer, valueBytes: number): Buffer {
  const bytes = key.length + valueBytes + OVERHEAD_BYTES;
  const pages = bytes > OWN_PAGES_ABOVE ? Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES : bytes;
  const value = Buffer.alloc(SIZE_BYTES);
  value.writeUInt32BE(Math.min(pages + 2 * key.length + OVERHEAD_BYTES, 2 ** 32 - 1));
  return value;
}

/** Those of earlier releases are longer. @returns 0 when it is damaged */
export function decodeEnd(value: Buffer): number {
  return value.length < SIZE_BYTES ? 0 : value.readUInt32BE();
}

/** What stands in front of a body in the record of its entry. */
export function frontOfBody(head: Buffer): Buffer {
  return Buffer.concat([Buffer.of(head.length), head]);
}

/** The same of a large body, whose name stands in its place. */
export function frontOfBodyName(head: Buffer): Buffer {
  return Buffer.concat([Buffer.of(LARGE, head.length), head]);
}

export interface EntryRecord {
  readonly stamp: Stamp;
  readonly head: Buffer;
  /** Or the name of one that lies beside it. */
  readonly body: Buffer;
  readonly isLarge: boolean;
}

/** @returns null for what is no entry */
export function decodeEntryRecord(value: Buffer): EntryRecord | null {
  const isLarge = value[0] === LARGE;
  const start = isLarge ? 2 : 1;
  const end = start + (value[start - 1] ?? 0);
  const head = value.subarray(start, end);
  const stamp = readStamp(head);
  return stamp === null ? null : { stamp, head, body: value.subarray(end), isLarge };
}

export function encodeFactsRecord(endsAtMs: number, facts: Buffer): Buffer {
  return Buffer.concat([timeBytes(endsAtMs), facts]);
}

export function decodeFactsRecord(value: Buffer): { readonly endsAtMs: number; readonly facts: Buffer } {
  if (value.length < TIME_BYTES) return { endsAtMs: 0, facts: Buffer.alloc(0) };
  return { endsAtMs: value.readUIntBE(0, TIME_BYTES), facts: value.subarray(TIME_BYTES) };
}

function timeBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUIntBE(ms, 0, TIME_BYTES);
  return bytes;
}

/** A text as a part of a key, so that keys are ordered by their texts one after the other. */
function element(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (!bytes.includes(0)) return Buffer.concat([bytes, Buffer.of(0, 1)]);
  const escaped = bytes.toString('latin1').replaceAll('\0', '\0\xff');
  return Buffer.concat([Buffer.from(escaped, 'latin1'), Buffer.of(0, 1)]);
}
