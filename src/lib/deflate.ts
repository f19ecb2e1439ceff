import { deflateRawSync } from 'node:zlib';

const [SMALLEST_BITS, LARGEST_BITS] = [9, 15];
/** Smaller memory is of the pool of buffers. */
const CHUNK_BYTES = 4000;

/**
 * Raw deflate of small values. The window is as large as the value: the default one takes 268 KB, which malloc gives back to the
 * system after each call, and the next call faults in page by page.
 */
export function deflateSmall(plain: Buffer, level = 6): Buffer {
  const bits = Math.min(LARGEST_BITS, Math.max(SMALLEST_BITS, Math.ceil(Math.log2(plain.length))));
  return deflateRawSync(plain, { level, windowBits: bits, memLevel: bits - 7, chunkSize: CHUNK_BYTES });
}
