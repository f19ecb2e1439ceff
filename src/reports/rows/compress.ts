/** Content codings for finished bodies, on the thread pool; small ones at once, in a third of the time. */
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import type { Coding } from '../query/output-options.js';

type Encoded = Exclude<Coding, 'identity'>;

/** Node 20 has no zstd; its types do not either. */
const { zstdCompress, createZstdCompress } = zlib as unknown as {
  readonly zstdCompress?: (body: Buffer, done: (error: Error | null, out: Buffer) => void) => void;
  readonly createZstdCompress?: () => Transform;
};

const GZIP = { level: 6 };
/** Takes less than 0.2 ms. */
const SMALL_BYTES = 16_384;
/** Level 5 is where brotli beats gzip-6 in size at about its speed. */
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } };

const brotli = promisify(zlib.brotliCompress);
const gzipAside = promisify(zlib.gzip);
const gzip = async (body: Buffer) =>
  body.length <= SMALL_BYTES ? zlib.gzipSync(body, GZIP) : gzipAside(body, GZIP);

type Encoder = readonly [atOnce: (body: Buffer) => Promise<Buffer>, inPieces: () => Transform];

const ENCODERS: Readonly<Partial<Record<Encoded, Encoder>>> = {
  gzip: [gzip, () => zlib.createGzip(GZIP)],
  br: [(body) => brotli(body, BROTLI), () => zlib.createBrotliCompress(BROTLI)],
  ...(zstdCompress && createZstdCompress && { zstd: [promisify(zstdCompress), createZstdCompress] }),
};

/** @param coding from `negotiateCoding`, which offers what the runtime has */
export async function compress(pieces: readonly Buffer[], coding: Coding): Promise<readonly Buffer[]> {
  if (coding === 'identity') return pieces;
  const [only] = pieces;
  const encoder = ENCODERS[coding];
  if (encoder === undefined) throw new Error(`this runtime has no ${coding}`);
  const [atOnce, inPieces] = encoder;
  if (only !== undefined && pieces.length === 1) return [await atOnce(only)];
  const compressed: Buffer[] = [];
  await pipeline(Readable.from(pieces), inPieces(), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) compressed.push(chunk);
  });
  return compressed;
}
