/**
 * Rows of one day as bytes: version (6, big endian) · length of the header (1) · digest of the facts (16) · header ·
 * body. The facts are stored separately, once for all contents that share them.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { packColumns, unpackColumns } from './columns.js';
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

/** Smaller groups and longer bodies are stored separately. */
const [PACKED_FROM, PACKED_MAX_BYTES] = [4, 2048];

/** @returns the groups to store together, by name. @param nameOf null: stored separately */
export function groupsToPack<T>(
  all: readonly T[],
  nameOf: (one: T) => string | null,
  bodyOf: (one: T) => Buffer,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const name = nameOf(one);
    if (name === null || bodyOf(one).length > PACKED_MAX_BYTES) continue;
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(one);
  }
  for (const [name, { length }] of groups) if (length < PACKED_FROM) groups.delete(name);
  return groups;
}

/** Larger than most packs, so that zlib allocates one buffer for each. */
const CHUNK_BYTES = 32_768;

/** Contents by day: `07` of `2026-03-07`. */
export type DayContents = ReadonlyMap<string, HistoryContent>;

/** The first byte of a pack with bodies in columns: no deflate begins with it. */
const IN_COLUMNS = 6;
/** Of a day, without its header. */
const [HEAD_BYTES, DAY_BYTES] = [14, 2];
const LINE = Buffer.from('\n');

/**
 * A pack: contents of up to 31 days, deflated together. Numbers of distinct facts and of days (1 byte each); each length
 * of facts (4) with the facts; for each day its name (2), version (6), index of its facts (1), lengths of header (1) and
 * body (4), and the header; then all bodies, joined by line breaks, in columns, see columns.ts. Without
 * {@link IN_COLUMNS} in front, the bodies follow each other unchanged: packs of an earlier release, and of lines with
 * many shapes.
 */
export function packDays(contents: DayContents): Buffer {
  const facts: Buffer[] = [];
  const heads: Buffer[] = [];
  const bodies: Buffer[] = [];
  for (const [day, { version, header, body, facts: one }] of contents) {
    const known = facts.findIndex((other) => other.equals(one));
    if (known < 0) facts.push(one);
    const place = known < 0 ? facts.length - 1 : known;
    const head = Buffer.alloc(HEAD_BYTES);
    let at = head.write(day, 'latin1');
    at = head.writeUIntBE(Math.floor(version), at, 6);
    at = head.writeUInt8(place, at);
    head.writeUInt32BE(body.length, head.writeUInt8(header.length, at));
    heads.push(head, header);
    bodies.push(body);
  }
  const columns = packColumns(Buffer.concat(bodies.flatMap((body, at) => (at > 0 ? [LINE, body] : body))));
  const front = [
    Buffer.of(facts.length, contents.size),
    ...facts.flatMap((one) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(one.length);
      return [length, one];
    }),
    ...heads,
  ];
  const plain = Buffer.concat([...front, ...(columns === null ? bodies : [columns])]);
  const packed = deflateRawSync(plain, { chunkSize: CHUNK_BYTES, windowBits: 14, memLevel: 7 });
  return columns === null ? packed : Buffer.concat([Buffer.of(IN_COLUMNS), packed]);
}

/** @returns no contents for null, or for bytes that are not a pack */
export function unpackDays(packed: Buffer | null): DayContents {
  if (packed === null) return new Map();
  try {
    const isInColumns = packed[0] === IN_COLUMNS;
    const plain = inflateRawSync(packed.subarray(isInColumns ? 1 : 0), { chunkSize: CHUNK_BYTES });
    let at = 0;
    const take = (length: number) => {
      at += length;
      return plain.subarray(at - length, at);
    };
    const number = (width: number) => {
      at += width;
      return plain.readUIntBE(at - width, width);
    };
    const [factCount, dayCount] = [number(1), number(1)];
    const facts = Array.from({ length: factCount }, () => take(number(4)));
    const days = Array.from({ length: dayCount }, () => {
      at += DAY_BYTES;
      const day = plain.toString('latin1', at - DAY_BYTES, at);
      const [version, place, headerBytes, bodyBytes] = [number(6), number(1), number(1), number(4)];
      return { day, version, header: take(headerBytes), bodyBytes, facts: facts[place] as Buffer };
    });
    const gap = isInColumns ? LINE.length : 0;
    const length = days.reduce((sum, { bodyBytes }) => sum + bodyBytes + gap, -gap);
    const bodies = isInColumns ? unpackColumns(plain.subarray(at), length) : plain.subarray(at);
    const contents = new Map<string, HistoryContent>();
    let from = 0;
    // Each member by its name: spread objects are slow in V8.
    for (const { day, version, header, bodyBytes, facts: one } of days) {
      contents.set(day, { version, header, body: bodies.subarray(from, from + bodyBytes), facts: one });
      from += bodyBytes + gap;
    }
    return bodies.length === length ? contents : new Map();
  } catch {
    return new Map();
  }
}

/** `2026-03` of `2026-03-07` */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}
