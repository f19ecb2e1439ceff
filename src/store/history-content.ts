/**
 * Rows of one day as bytes: version (6, big endian) · length of the header (1) · digest of the facts (16) · header ·
 * body. The facts are stored separately, once for all contents that share them.
 */
import { digestOfFacts } from './entry-stamp.js';
import type { HistoryContent } from './history-port.js';

const DIGEST_AT = 7;
const HEADER_AT = 23;

/** @returns `digest`: of the facts, hexadecimal. @throws RangeError if the header is too long */
export function packContent({ version, header, body, facts }: HistoryContent) {
  if (header.length > 255) throw new RangeError(`a header of ${header.length} bytes`);
  const digest = digestOfFacts(facts);
  const front = Buffer.alloc(HEADER_AT);
  front.writeUIntBE(Math.floor(version), 0, 6);
  front[6] = header.length;
  front.write(digest, DIGEST_AT, 'hex');
  return { bytes: Buffer.concat([front, header, body]), digest };
}

/** @returns null for bytes of another form */
export function unpackContent(bytes: Buffer | null) {
  if (bytes === null || bytes.length < HEADER_AT) return null;
  const bodyAt = HEADER_AT + (bytes[6] as number);
  if (bytes.length < bodyAt) return null;
  return {
    version: bytes.readUIntBE(0, 6),
    digest: bytes.toString('hex', DIGEST_AT, HEADER_AT),
    header: bytes.subarray(HEADER_AT, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}

/** `2026-03` of `2026-03-07` */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}
