/**
 * Rows of one day as bytes: version (6, big endian) · length of the header (1) · digest of the facts (16) · header ·
 * body. The facts are stored separately, once for all contents that share them.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
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

/**
 * A pack: contents of up to 31 days, deflated together. Numbers of distinct facts and of days (1 byte each); each length of
 * facts (4) with the facts; for each day its name (2), version (6), index of its facts (1), lengths of header (1) and body
 * (4), and the header; then all bodies.
 */
export function packDays(contents: DayContents): Buffer {
  const places = new Map<string, number>();
  const facts: Buffer[] = [];
  const heads: Buffer[] = [];
  const bodies: Buffer[] = [];
  for (const [day, { version, header, body, facts: one }] of contents) {
    const name = one.toString('latin1');
    if (!places.has(name)) facts.push(numbers([one.length, 4]), one);
    places.set(name, places.get(name) ?? places.size);
    const place = places.get(name) as number;
    heads.push(
      Buffer.from(day),
      numbers([version, 6], [place, 1], [header.length, 1], [body.length, 4]),
      header,
    );
    bodies.push(body);
  }
  const plain = Buffer.concat([Buffer.of(places.size, contents.size), ...facts, ...heads, ...bodies]);
  return deflateRawSync(plain, { chunkSize: CHUNK_BYTES, windowBits: 14, memLevel: 7 });
}

function numbers(...all: readonly (readonly [value: number, bytes: number])[]): Buffer {
  const bytes = Buffer.alloc(all.reduce((sum, [, width]) => sum + width, 0));
  let at = 0;
  for (const [value, width] of all) at = bytes.writeUIntBE(Math.floor(value), at, width);
  return bytes;
}

/** @returns no contents for null, or for bytes that are not a pack */
export function unpackDays(packed: Buffer | null): DayContents {
  if (packed === null) return new Map();
  try {
    const plain = inflateRawSync(packed, { chunkSize: CHUNK_BYTES });
    let at = 0;
    const take = (length: number) => {
      at += length;
      return plain.subarray(at - length, at);
    };
    const number = (width: number) => take(width).readUIntBE(0, width);
    const [factCount, dayCount] = [number(1), number(1)];
    const facts = Array.from({ length: factCount }, () => take(number(4)));
    const days = Array.from({ length: dayCount }, () => {
      const [day, version, place] = [take(2).toString(), number(6), number(1)];
      const [headerBytes, bodyBytes] = [number(1), number(4)];
      return { day, version, header: take(headerBytes), bodyBytes, facts: facts[place] as Buffer };
    });
    const contents = days.map(
      ({ day, bodyBytes, ...rest }) => [day, { ...rest, body: take(bodyBytes) }] as const,
    );
    return new Map(at === plain.length ? contents : []);
  } catch {
    return new Map();
  }
}

/** `2026-03` of `2026-03-07` */
export function monthOf(day: string): string {
  return day.slice(0, 7);
}
