/**
 * Rows of pins of earlier releases: a binary header, facts as JSON, and a body. What the header has no place for, or a value that
 * did not fit, is a fact. Numbers are big endian; a bit of the marks says whether a member is present.
 *
 * format (1 byte) · checksum (4) · marks (2) · codec (1) · fetchedAt (6) · fetchedOn (2) · lastDay (2) · seq: epoch of the
 * purges (4) and their number (3) · rowCount (4) · plain length (4) · CRC-32 of the plain (4) and of the stored bytes (4) ·
 * hash (17) · splitFrom: sortedHash (17), from (2), to (2) · originMs (6) · emptySince (6) · answerRows (3), if the highest bit
 * of the codec is set
 */
import { crc32 } from 'node:zlib';
import { isObject, parseObject } from '../../lib/json.js';
import type { OldPinRows } from '../../store/pins-port.js';
import { isoDay } from '../query/days.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../rows/entry.js';
import { crcsInTurns, inflateBodies, type StoredBody } from '../rows/segments.js';

const FORMAT = 3;
const CHECKSUM_AT = 1;
const CHECKED_FROM = 5;
/** Without the last three members. */
const SHORTEST = 79;
const [PLAIN, DEFLATED, HAS_ANSWER_ROWS] = [0, 1, 1 << 7] as const;
const DIGEST_CHARS = 22;

/** By two bits of the marks: 1 and the place of the word, 0 for none. */
const WORDS = [
  ['form', ['rows', 'bytes', 'refusal']],
  ['kind', ['bounded', 'open', 'undeclared']],
  ['emptyTail', ['no', 'unconfirmed', 'confirmed']],
] as const;
const HAS_SPLIT_FROM = 1 << 7;
const HAS_EMPTY_SINCE = 1 << 8;
const HAS_ORIGIN = 1 << 14;

/** By their marks. */
const MEMBERS: readonly (readonly [mark: number, name: string, read: (bytes: Buffer) => unknown])[] = [
  [1 << 6, 'hash', (bytes) => digestAt(bytes, 41)],
  [1 << 9, 'seq', (bytes) => bytes.readUInt32BE(18) * 2 ** 22 + bytes.readUIntBE(22, 3)],
  [1 << 10, 'lastDay', (bytes) => dayAt(bytes, 16)],
  [1 << 12, 'fetchedAt', (bytes) => bytes.readUIntBE(8, 6)],
  [1 << 13, 'fetchedOn', (bytes) => bytes.readUInt16BE(14)],
  [HAS_ORIGIN, 'originMs', (bytes) => bytes.readUIntBE(79, 6)],
  [1 << 15, 'rowCount', (bytes) => bytes.readUInt32BE(25)],
  [HAS_EMPTY_SINCE, 'emptySince', (bytes) => [[dayAt(bytes, 16), bytes.readUIntBE(85, 6)]]],
];
const HAS_START = 1 << 11;

const dayAt = (bytes: Buffer, at: number) => isoDay(bytes.readUInt16BE(at));
const digestAt = (bytes: Buffer, at: number) =>
  bytes.toString('base64url', at, at + 17).slice(0, DIGEST_CHARS);

/** @param id name under which they were written: under another one they are damaged. @returns null if they are damaged */
export async function decodeOldRows(id: string, rows: OldPinRows): Promise<Entry<RowsHeader> | null> {
  const { version, header: bytes, body } = rows;
  if (bytes.length < SHORTEST || bytes[0] !== FORMAT || bytes.length < lengthOf(bytes)) return null;
  if (checksumOf(id, rows) !== bytes.readUInt32BE(CHECKSUM_AT)) return null;
  const [sum] = await crcsInTurns([body]);
  const codec = codecOf(bytes) & ~HAS_ANSWER_ROWS;
  if (sum !== bytes.readUInt32BE(37) || codec > DEFLATED) return null;
  const facts = parseObject(rows.facts.toString());
  const stored: StoredBody = {
    bytes: body,
    isDeflated: codec !== PLAIN,
    plainLength: bytes.readUInt32BE(29),
    plainCrc: bytes.readUInt32BE(33),
  };
  const [plain = null] = await inflateBodies([stored]);
  const header = facts && membersOf(version, bytes, facts);
  if (plain === null || !isEntryHeader(header) || header.form !== 'rows') return null;
  return { header, body: plain };
}

function checksumOf(id: string, { version, header, facts }: OldPinRows): number {
  const start = crc32(`${id} ${version}:${header[0]}:${header.length}`, crc32(facts));
  return crc32(header.subarray(CHECKED_FROM), start);
}

const marksOf = (bytes: Buffer) => bytes.readUInt16BE(5);
const codecOf = (bytes: Buffer) => bytes[7] as number;

/** Without `answerRows`. */
function endOf(bytes: Buffer): number {
  if (marksOf(bytes) & HAS_EMPTY_SINCE) return 91;
  return marksOf(bytes) & HAS_ORIGIN ? 85 : SHORTEST;
}

function lengthOf(bytes: Buffer): number {
  return endOf(bytes) + (codecOf(bytes) & HAS_ANSWER_ROWS ? 3 : 0);
}

function membersOf(version: number, bytes: Buffer, facts: object): Record<string, unknown> {
  const marks = marksOf(bytes);
  const header: Record<string, unknown> = { order: 0, ...facts };
  for (const [at, [name, words]] of WORDS.entries()) {
    const word = (marks >> (2 * at)) & 3;
    if (word > 0) header[name] = words[word - 1];
  }
  for (const [mark, name, read] of MEMBERS) if (marks & mark) header[name] = read(bytes);
  if (marks & HAS_START) header.fetchStartedAt = version;
  if (codecOf(bytes) & HAS_ANSWER_ROWS) header.answerRows = bytes.readUIntBE(endOf(bytes), 3);
  if (marks & HAS_SPLIT_FROM) {
    const period = { from: dayAt(bytes, 75), to: dayAt(bytes, 77), sortedHash: digestAt(bytes, 58) };
    header.splitFrom = isObject(header.splitFrom) ? { ...period, ...header.splitFrom } : period;
  }
  return header;
}
