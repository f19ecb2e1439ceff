/** Content codings for finished bodies. */
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import type { Coding } from './negotiate.js';

type Compress = (body: Buffer) => Promise<Buffer>;

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

/** Node 20 has no zstd; its types do not either. */
const zstd = (
  zlib as unknown as {
    zstdCompress?: (body: Buffer, done: (error: Error | null, out: Buffer) => void) => void;
  }
).zstdCompress;

const COMPRESS: Readonly<Record<Exclude<Coding, 'identity'>, Compress>> = {
  gzip: (body) => gzip(body, { level: 6 }),
  // Level 5 is where brotli beats gzip-6 in size at about its speed.
  br: (body) => brotli(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: zstd === undefined ? async (body) => body : promisify(zstd),
};

/** Compresses on the thread pool. */
export async function compress(body: Buffer, coding: Coding): Promise<Buffer> {
  return coding === 'identity' ? body : COMPRESS[coding](body);
}
