/**
 * The binary header of a cache entry. Numbers are big endian; a bit of the marks says whether a member is present.
 *
 * format (1 byte) · checksum (4) · marks (2) · codec (1) · fetchedAt (6) · fetchedOn (2) · lastDay (2) · seq: epoch of
 * the purges (4) and their number (3) · rowCount (4) · plain length (4) · CRC-32 of the plain (4) and of the stored
 * bytes (4) · hash (17) · what it was split from: sortedHash (17), from (2) and to (2) · originMs (6) · emptySince (6) ·
 * answerRows (3), if the highest bit of the codec is set
 *
 * Without the last three members the header ends before them. The version of the entry is its `fetchStartedAt`. The generation
 * is a fact, shared by all days of a kind.
 */

import { isObject } from '../../lib/json.js';
import { dayNumber, isoDay } from '../query/days.js';

export const PACKED_MAX_BYTES = 94;
const HEADER_MIN_BYTES = 79;

const MARKS_AT = 5;
const CODEC_AT = 7;
const FETCHED_AT = 8;
const FETCHED_ON = 14;
const LAST_DAY = 16;
const PURGE_EPOCH = 18;
const PURGE_NUMBER = 22;
const ROW_COUNT = 25;
const HASH = 41;
const SORTED_HASH = 58;
const SPLIT_FROM = 75;
const SPLIT_TO = 77;
const ORIGIN = 79;
const EMPTY_SINCE = 85;
const ANSWER_ROWS_BYTES = 3;

/** Numbers of purges of one registry; see purges.ts. */
const PER_REGISTRY = 2 ** 22;
/** A digest in base64url has 132 bits: 17 bytes, the last one half used. */
const DIGEST_CHARS = 22;
const DIGEST_BYTES = 17;

/** Marks from the lowest bit. Words take two bits: 1 + their place in the list, 0 for none. */
const FORMS = { at: 0, words: ['rows', 'bytes', 'refusal'] } as const;
const KINDS = { at: 2, words: ['bounded', 'open', 'undeclared'] } as const;
const EMPTY_TAILS = { at: 4, words: ['no', 'unconfirmed', 'confirmed'] } as const;
const HAS_HASH = 1 << 6;
const HAS_SPLIT_FROM = 1 << 7;
const HAS_EMPTY_SINCE = 1 << 8;
const HAS_SEQ = 1 << 9;
const HAS_LAST_DAY = 1 << 10;
const HAS_START = 1 << 11;
/** In the byte of the codec: all marks are taken. */
const HAS_ANSWER_ROWS = 1 << 7;

/** Plain numbers, with their sizes. */
const NUMBERS = {
  fetchedAt: { at: FETCHED_AT, bytes: 6, mark: 1 << 12 },
  fetchedOn: { at: FETCHED_ON, bytes: 2, mark: 1 << 13 },
  originMs: { at: ORIGIN, bytes: 6, mark: 1 << 14 },
  rowCount: { at: ROW_COUNT, bytes: 4, mark: 1 << 15 },
} as const;

type Members = Readonly<Record<string, unknown>>;

export interface Packed {
  readonly bytes: Buffer;
  /** Members without a place in the header, or with a value that does not fit. */
  readonly rest: Members;
}

/** Hot path, as {@link unpack}: one walk over the members. */
export function pack(version: number, header: object): Packed {
  const bytes = Buffer.alloc(PACKED_MAX_BYTES);
  const members = header as Members;
  const rest: [name: string, value: unknown][] = [];
  let marks = 0;
  for (const name of Object.keys(members)) {
    const value = members[name];
    // Its place depends on the other members.
    if (name === 'answerRows') continue;
    const mark = place(bytes, name, value, version, members);
    if (mark === 0) rest.push([name, value]);
    marks |= mark;
  }
  if (marks & HAS_SPLIT_FROM) rest.push(['splitFrom', restOfSplitFrom(members.splitFrom as Members)]);
  bytes.writeUInt16BE(marks, MARKS_AT);
  const { answerRows } = members;
  if (writeNumber(bytes, lengthBy(marks), ANSWER_ROWS_BYTES, answerRows)) bytes[CODEC_AT] = HAS_ANSWER_ROWS;
  else if ('answerRows' in members) rest.push(['answerRows', answerRows]);
  // A new object: one with deleted members would be slow.
  return { bytes: bytes.subarray(0, lengthOf(bytes)), rest: Object.fromEntries(rest) };
}

/** Writes a member to its place. @returns its marks; 0 if it has none, or the value does not fit */
function place(bytes: Buffer, name: string, value: unknown, version: number, { lastDay }: Members): number {
  switch (name) {
    case 'form':
      return markOf(FORMS, value);
    case 'kind':
      return markOf(KINDS, value);
    case 'emptyTail':
      return markOf(EMPTY_TAILS, value);
    case 'fetchedAt':
    case 'fetchedOn':
    case 'originMs':
    case 'rowCount': {
      const { at, bytes: width, mark } = NUMBERS[name];
      return writeNumber(bytes, at, width, value) ? mark : 0;
    }
    case 'fetchStartedAt':
      return Object.is(value, version) ? HAS_START : 0;
    case 'seq':
      return writeSeq(bytes, value) ? HAS_SEQ : 0;
    case 'emptySince':
      return writeEmptySince(bytes, value, lastDay) ? HAS_EMPTY_SINCE : 0;
    case 'lastDay':
      return writeDay(bytes, LAST_DAY, value) ? HAS_LAST_DAY : 0;
    case 'hash':
      return writeDigest(bytes, HASH, value) ? HAS_HASH : 0;
    case 'splitFrom':
      return writeSplitFrom(bytes, value) ? HAS_SPLIT_FROM : 0;
    default:
      return 0;
  }
}

function markOf({ at, words }: { readonly at: number; readonly words: readonly unknown[] }, value: unknown) {
  return (words.indexOf(value) + 1) << at;
}

/** Without `answerRows`. */
function lengthBy(marks: number): number {
  if (marks & HAS_EMPTY_SINCE) return PACKED_MAX_BYTES - ANSWER_ROWS_BYTES;
  return marks & NUMBERS.originMs.mark ? EMPTY_SINCE : HEADER_MIN_BYTES;
}

function lengthOf(bytes: Buffer): number {
  const hasAnswerRows = (bytes[CODEC_AT] as number) & HAS_ANSWER_ROWS;
  return lengthBy(bytes.readUInt16BE(MARKS_AT)) + (hasAnswerRows ? ANSWER_ROWS_BYTES : 0);
}

export function writeCodec(bytes: Buffer, codec: number): void {
  bytes[CODEC_AT] = ((bytes[CODEC_AT] as number) & HAS_ANSWER_ROWS) | codec;
}

export function readCodec(bytes: Buffer): number {
  return (bytes[CODEC_AT] as number) & ~HAS_ANSWER_ROWS;
}

/** For a body whose reader computes the hash. */
export function leaveOutHash(bytes: Buffer): void {
  bytes.fill(0, HASH, HASH + DIGEST_BYTES);
  bytes.writeUInt16BE(bytes.readUInt16BE(MARKS_AT) & ~HAS_HASH, MARKS_AT);
}

/** Whether its length matches its marks. */
export function isWholeHeader(bytes: Buffer): boolean {
  return bytes.length >= HEADER_MIN_BYTES && bytes.length >= lengthOf(bytes);
}

/**
 * Hot path: runs for each day of each answer. Uses no tables and starts from an empty object: adding members to a spread
 * object is a hundred times slower in V8.
 * @param bytes a whole header with the right checksum
 */
export function unpack(version: number, bytes: Buffer, rest: object): object {
  const header: Record<string, unknown> = {};
  const marks = bytes.readUInt16BE(MARKS_AT);
  const form = (marks >> FORMS.at) & 3;
  if (form > 0) header.form = FORMS.words[form - 1];
  const kind = (marks >> KINDS.at) & 3;
  if (kind > 0) header.kind = KINDS.words[kind - 1];
  const emptyTail = (marks >> EMPTY_TAILS.at) & 3;
  if (emptyTail > 0) header.emptyTail = EMPTY_TAILS.words[emptyTail - 1];
  if (marks & NUMBERS.fetchedAt.mark) header.fetchedAt = bytes.readUIntBE(FETCHED_AT, 6);
  if (marks & NUMBERS.fetchedOn.mark) header.fetchedOn = bytes.readUInt16BE(FETCHED_ON);
  if (marks & NUMBERS.rowCount.mark) header.rowCount = bytes.readUInt32BE(ROW_COUNT);
  if ((bytes[CODEC_AT] as number) & HAS_ANSWER_ROWS)
    header.answerRows = bytes.readUIntBE(lengthBy(marks), ANSWER_ROWS_BYTES);
  if (marks & HAS_START) header.fetchStartedAt = version;
  if (marks & HAS_SEQ)
    header.seq = bytes.readUInt32BE(PURGE_EPOCH) * PER_REGISTRY + bytes.readUIntBE(PURGE_NUMBER, 3);
  if (marks & HAS_LAST_DAY) header.lastDay = readDay(bytes, LAST_DAY);
  if (marks & HAS_HASH) header.hash = readDigest(bytes, HASH);
  if (marks & NUMBERS.originMs.mark) header.originMs = bytes.readUIntBE(ORIGIN, 6);
  if (marks & HAS_EMPTY_SINCE)
    header.emptySince = [[readDay(bytes, LAST_DAY), bytes.readUIntBE(EMPTY_SINCE, 6)]];
  addMembers(header, rest);
  if (marks & HAS_SPLIT_FROM) header.splitFrom = unpackSplitFrom(bytes, header.splitFrom);
  return header;
}

function unpackSplitFrom(bytes: Buffer, rest: unknown): Members {
  const splitFrom = {
    from: readDay(bytes, SPLIT_FROM),
    to: readDay(bytes, SPLIT_TO),
    sortedHash: readDigest(bytes, SORTED_HASH),
  };
  return isObject(rest) ? addMembers(splitFrom, rest) : splitFrom;
}

/** Object.assign, except that `__proto__` becomes a member too. */
function addMembers<T extends object>(target: T, members: object): T {
  if (!Object.hasOwn(members, '__proto__')) return Object.assign(target, members);
  return Object.defineProperties(target, Object.getOwnPropertyDescriptors(members));
}

function writeSplitFrom(bytes: Buffer, splitFrom: unknown): boolean {
  return (
    isObject(splitFrom) &&
    writeDay(bytes, SPLIT_FROM, splitFrom.from) &&
    writeDay(bytes, SPLIT_TO, splitFrom.to) &&
    writeDigest(bytes, SORTED_HASH, splitFrom.sortedHash)
  );
}

/** Its members without a place in the header. */
function restOfSplitFrom({ from, to, sortedHash, ...rest }: Members): Members {
  return rest;
}

/** Packs a single run that begins with the last day, the usual case of an empty day. */
function writeEmptySince(bytes: Buffer, runs: unknown, lastDay: unknown): boolean {
  if (!Array.isArray(runs) || runs.length !== 1) return false;
  const [run]: unknown[] = runs;
  if (!Array.isArray(run) || run.length !== 2 || run[0] !== lastDay) return false;
  return writeDay(bytes, LAST_DAY, lastDay) && writeNumber(bytes, EMPTY_SINCE, 6, run[1]);
}

function writeNumber(bytes: Buffer, at: number, width: number, value: unknown): boolean {
  if (!isWhole(value) || value >= 256 ** width) return false;
  bytes.writeUIntBE(value, at, width);
  return true;
}

function writeSeq(bytes: Buffer, seq: unknown): boolean {
  if (!isWhole(seq) || seq >= PER_REGISTRY * 2 ** 31) return false;
  bytes.writeUInt32BE(Math.floor(seq / PER_REGISTRY), PURGE_EPOCH);
  bytes.writeUIntBE(seq % PER_REGISTRY, PURGE_NUMBER, 3);
  return true;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);
}

/** Days from 1970 on, up to 2149. */
function writeDay(bytes: Buffer, at: number, day: unknown): boolean {
  const number = typeof day === 'string' ? dayNumber(day) : null;
  return number !== null && writeNumber(bytes, at, 2, number);
}

function readDay(bytes: Buffer, at: number): string {
  return isoDay(bytes.readUInt16BE(at));
}

function writeDigest(bytes: Buffer, at: number, digest: unknown): boolean {
  if (typeof digest !== 'string' || digest.length !== DIGEST_CHARS) return false;
  // The added letter completes the last byte.
  bytes.write(`${digest}A`, at, DIGEST_BYTES, 'base64url');
  return readDigest(bytes, at) === digest;
}

function readDigest(bytes: Buffer, at: number): string {
  return bytes.toString('base64url', at, at + DIGEST_BYTES).slice(0, DIGEST_CHARS);
}
