/**
 * Joins deflated and plain pieces to a gzip body (RFC 1952) without inflating or deflating. Plain pieces become stored blocks
 * (RFC 1951, section 3.2.4).
 */
import { crc32 } from 'node:zlib';
import type { BodyPieces } from './entry.js';

/** No time, no name, unknown system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** The final block: stored and empty. */
const END = Buffer.from([1, 0, 0, 0xff, 0xff]);
const STORED_MAX_BYTES = 65_535;
const STORED_HEAD_BYTES = 5;

export function joinGzip(pieces: BodyPieces): Buffer[] {
  let [crc, length] = [0, 0];
  for (const piece of pieces) {
    const isPlain = Buffer.isBuffer(piece);
    // For empty data zlib returns the initial checksum, not `crc`.
    if (isPlain && piece.length === 0) continue;
    crc = isPlain ? crc32(piece, crc) : combineCrc32(crc, piece.plainCrc, piece.plainLength);
    length += isPlain ? piece.length : piece.plainLength;
  }
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(crc);
  tail.writeUInt32LE(length % 2 ** 32, 4);
  return [HEAD, ...joinDeflate(pieces), tail];
}

/** The same as raw deflate. */
export function joinDeflate(pieces: BodyPieces): Buffer[] {
  const body: Buffer[] = [];
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) addStored(body, piece);
    else body.push(piece.bytes);
  }
  body.push(END);
  return body;
}

function addStored(body: Buffer[], plain: Buffer): void {
  for (let at = 0; at < plain.length; at += STORED_MAX_BYTES) {
    const block = plain.subarray(at, at + STORED_MAX_BYTES);
    const head = Buffer.alloc(STORED_HEAD_BYTES);
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(0xffff - block.length, 3);
    body.push(head, block);
  }
}

/** Polynomials over GF(2) modulo that of CRC-32; the highest bit is the coefficient of x^0. */
const MODULUS = 0xedb88320;
const ONE = 0x80000000;

function multiply(a: number, b: number): number {
  let product = 0;
  let rest = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= rest;
    rest = rest & 1 ? (rest >>> 1) ^ MODULUS : rest >>> 1;
  }
  return product >>> 0;
}

/** x^8, x^16, x^32 …: factors of a checksum for 1, 2, 4 … zero bytes. */
const BYTES_OF_ZERO: number[] = [ONE >>> 8];
for (let at = 1; at < 32; at += 1) {
  const before = BYTES_OF_ZERO[at - 1] as number;
  BYTES_OF_ZERO.push(multiply(before, before));
}

/** @returns the CRC-32 of data with checksum `first`, followed by `lastBytes` bytes with checksum `last` */
export function combineCrc32(first: number, last: number, lastBytes: number): number {
  let crc = first;
  for (let at = 0, left = lastBytes; left > 0; at += 1, left = Math.floor(left / 2))
    if (left % 2 === 1) crc = multiply(BYTES_OF_ZERO[at] as number, crc);
  return (crc ^ last) >>> 0;
}
