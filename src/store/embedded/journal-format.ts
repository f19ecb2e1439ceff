import { crc32 } from 'node:zlib';

/**
 * A journal is a row of records, each
 *
 *     mark (4 bytes) · length of the text (4, little endian) · CRC-32 of length and text (4) · text (JSON, UTF-8)
 *
 * The mark starts with a byte that UTF-8 never contains, so that the start of a record can be found again behind a
 * damaged one.
 */
const MARK = Buffer.from([0xff, 0x44, 0x47, 0x57]);
const HEAD_BYTES = MARK.length + 8;

/** Encodes a value as one record. */
export function encodeRecord(value: unknown): Buffer {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  const record = Buffer.allocUnsafe(HEAD_BYTES + length);
  MARK.copy(record);
  record.writeUInt32LE(length, MARK.length);
  record.write(text, HEAD_BYTES);
  record.writeUInt32LE(checksum(record, 0, length), MARK.length + 4);
  return record;
}

function checksum(bytes: Buffer, start: number, length: number): number {
  const seed = crc32(bytes.subarray(start + MARK.length, start + MARK.length + 4));
  return crc32(bytes.subarray(start + HEAD_BYTES, start + HEAD_BYTES + length), seed);
}

export interface JournalScan {
  /** The values of the whole records, in order. */
  readonly values: unknown[];
  /** Where the last of them ends. */
  readonly end: number;
  /**
   * What follows there. `nothing`: the end of the file. `torn`: a record that was cut off. `foreign`: not even the
   * start of a record, in a file without any. `damaged`: something that whole records follow.
   */
  readonly rest: 'nothing' | 'torn' | 'foreign' | 'damaged';
}

/**
 * Reads records up to the first one that is not whole, and says what is wrong with it.
 *
 * How a torn write is told from damage: every write to a journal is one record, and the next is not begun before
 * the disk has confirmed the one before. So when a crash cuts a write off, in whatever order its pages reached the
 * disk, nothing whole can follow it. Where something whole does follow, the bytes before it were once confirmed and
 * have changed since. (Damage to the very last record looks like a torn write and cannot be told from one.)
 */
export function scanJournal(file: Buffer): JournalScan {
  const values: unknown[] = [];
  let end = 0;
  for (let length = wholeLength(file, end); length !== null; length = wholeLength(file, end)) {
    values.push(JSON.parse(file.toString('utf8', end + HEAD_BYTES, end + HEAD_BYTES + length)));
    end += HEAD_BYTES + length;
  }
  return { values, end, rest: judgeRest(file, end) };
}

/** The length of the text of the whole record that starts at `start`; null when none does. */
function wholeLength(file: Buffer, start: number): number | null {
  if (
    start + HEAD_BYTES > file.length ||
    file.compare(MARK, 0, MARK.length, start, start + MARK.length) !== 0
  ) {
    return null;
  }
  const length = file.readUInt32LE(start + MARK.length);
  if (start + HEAD_BYTES + length > file.length) return null;
  return file.readUInt32LE(start + MARK.length + 4) === checksum(file, start, length) ? length : null;
}

function judgeRest(file: Buffer, end: number): JournalScan['rest'] {
  if (end === file.length) return 'nothing';
  for (let at = file.indexOf(MARK, end + 1); at !== -1; at = file.indexOf(MARK, at + 1)) {
    if (wholeLength(file, at) !== null) return 'damaged';
  }
  const started = file.subarray(end, end + MARK.length);
  const begins = started.equals(MARK.subarray(0, started.length));
  return end === 0 && !begins ? 'foreign' : 'torn';
}
