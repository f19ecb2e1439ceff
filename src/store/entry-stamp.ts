/**
 * The stamp before an entry's header in every store:
 * mark (2 bytes) · version (6) · end (6) · length of the body (4) · digest of the facts (16); numbers big endian.
 * A pointer has the name of its content in history in place of the last two.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { randomWhole } from '../lib/chance.js';
import { inOwnMemory } from '../lib/own-memory.js';
import { wholeMs } from './check-input.js';
import { type CacheWrite, HEADER_MAX_BYTES, VERSION_LEAD_MAX_MS } from './port.js';

export const MARK = [0xd6, 0x03] as const;
/** The second byte of the mark of an entry in a pack, which is stored in place of the facts. */
export const PACKED_MARK = 0x04;
export const POINTER_MARK = 0x05;
export const STAMP_BYTES = 34;
const NAME_AT = 14;
const DIGEST_BYTES = 16;
/** Times and versions fit into six bytes. */
const LATEST_MS = 2 ** 48 - 1;

export interface Stamp {
  readonly version: number;
  /** Epoch milliseconds at which the entry expires. */
  readonly endsAtMs: number;
  readonly bodyBytes: number;
  /** Of the facts, hexadecimal. */
  readonly facts: string;
  readonly isPacked: boolean;
  /** See {@link CacheWrite}. */
  readonly pointer?: string | undefined;
}

export type StampedWrite = Readonly<ReturnType<typeof stampWrite>>;

/** @throws RangeError for a lifetime, version or header that the port does not allow */
export function stampWrite(write: CacheWrite, nowMs: number) {
  /** Whole milliseconds; below 1 the entry is deleted. */
  const ttlMs = wholeMs(write.ttlMs);
  if (write.header.length > HEADER_MAX_BYTES)
    throw new RangeError(`a header of ${write.header.length} bytes`);
  const stamp: Stamp = {
    version: wholeVersion(write.version),
    endsAtMs: Math.min(Math.max(0, Math.floor(nowMs) + ttlMs), LATEST_MS),
    bodyBytes: write.body.length,
    facts: digestOfFacts(write.facts),
    isPacked: write.isPacked === true,
    pointer: write.pointer,
  };
  /** Stamp and header as bytes. */
  const head = Buffer.concat([encodeStamp(stamp), write.header]);
  return { write, stamp, ttlMs, head };
}

/** By the buffer, which days of an answer share, and which never changes. */
const digests = new WeakMap<Buffer, string>();

/** @returns 16 bytes, hexadecimal */
export function digestOfFacts(facts: Buffer): string {
  const digest = digests.get(facts) ?? hash('sha256', facts, 'hex').slice(0, 2 * DIGEST_BYTES);
  digests.set(facts, digest);
  return digest;
}

function encodeStamp({ version, endsAtMs, bodyBytes, facts, isPacked, pointer }: Stamp): Buffer {
  const bytes = Buffer.alloc(pointer === undefined ? STAMP_BYTES : NAME_AT + Buffer.byteLength(pointer));
  bytes.set(MARK);
  bytes.writeUIntBE(version, 2, 6);
  bytes.writeUIntBE(endsAtMs, 8, 6);
  if (pointer !== undefined) {
    bytes[1] = POINTER_MARK;
    bytes.write(pointer, NAME_AT);
    return bytes;
  }
  if (isPacked) bytes[1] = PACKED_MARK;
  bytes.writeUInt32BE(bodyBytes, 14);
  bytes.write(facts, 18, 'hex');
  return bytes;
}

/** @returns null for bytes without the mark */
export function readStamp(head: Buffer | null | undefined): Stamp | null {
  if (head === null || head === undefined || head.length <= NAME_AT || head[0] !== MARK[0]) return null;
  const times = { version: head.readUIntBE(2, 6), endsAtMs: head.readUIntBE(8, 6) };
  if (head[1] === POINTER_MARK)
    return { ...times, isPacked: false, bodyBytes: 0, facts: '', pointer: head.toString('utf8', NAME_AT) };
  const isPacked = head[1] === PACKED_MARK;
  if (head.length < STAMP_BYTES || (head[1] !== MARK[1] && !isPacked)) return null;
  return {
    ...times,
    isPacked,
    bodyBytes: head.readUInt32BE(14),
    facts: head.toString('hex', 18, STAMP_BYTES),
  };
}

/** @returns whole milliseconds, rounded down. @throws RangeError unless it is from 0 to 2^48 - 1 */
function wholeVersion(version: number): number {
  if (!(version >= 0 && version < LATEST_MS + 1))
    throw new RangeError(`not a version of an entry: ${version}`);
  return Math.floor(version);
}

/** Whether content of `version` replaces content of the version `present`. */
export function replaces(version: number, present: number): boolean {
  return present <= version || present > version + VERSION_LEAD_MAX_MS;
}

/** Random, so that a deleted and recreated record differs from the former one. Fits into six bytes. */
export function newStamp(): number {
  return randomWhole(1, 2 ** 48 - 1);
}

const MAX_BYTES = 4 * 1024 * 1024;
/** Approximate cost of one beside its bytes. */
const OVERHEAD_BYTES = 200;

/** Facts that were read or written before, by their digest. */
export function createKnownFacts() {
  const known = new LRUCache<string, Buffer>({
    maxSize: MAX_BYTES,
    sizeCalculation: (facts) => facts.length + OVERHEAD_BYTES,
  });
  return {
    get: (digest: string): Buffer | undefined => known.get(digest),
    /** @returns the facts to use: the same buffer for equal bytes */
    add(digest: string, facts: Buffer): Buffer {
      const present = known.get(digest);
      if (present !== undefined) return present;
      // Damaged facts are for this reader only.
      if (digestOfFacts(facts) !== digest) return facts;
      const owned = inOwnMemory(facts);
      known.set(digest, owned);
      return owned;
    },
  };
}
