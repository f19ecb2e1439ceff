/** Reads a platform answer to its end: decoded, bounded, and whole. */
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../errors.js';

/** Above it, the pieces of an answer lie in shared memory, so that another thread can read them without a copy. */
const SHARED_FROM_BYTES = 1_048_576;
const BLOCK_BYTES = 1_048_576;

/**
 * @param encoding the `content-encoding` header, lower case, or undefined
 * @param maxBytes limit of the decoded size: a small compressed body may be a large one
 * @returns the body in pieces, in order; one piece when it is small
 * @throws GatewayError `upstream_too_large`, or `upstream_invalid_response` for an encoding that cannot be read;
 *   stream errors (reset, truncation, abort) pass through for the caller to judge
 */
export async function readBody(
  stream: Readable,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Buffer[]> {
  const decoder = decoderOf(encoding, stream);
  const pile = createPile();
  let size = 0;
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      pile.add(chunk);
    }
  };
  try {
    await (decoder === null ? collect(stream) : pipeline(stream, decoder, collect));
  } catch (error) {
    // A body that is broken off reports that, and not what it was broken off for.
    if (size > maxBytes) throw tooLarge(maxBytes);
    if (decoder !== null && isDecodingError(error)) {
      throw new GatewayError('upstream_invalid_response', {
        internal: 'broken content-encoding',
        cause: error,
      });
    }
    throw error;
  }
  return pile.pieces();
}

interface Pile {
  add(chunk: Buffer): void;
  pieces(): Buffer[];
}

/** Small bodies end as one buffer; large ones are moved, piece by piece as they come, into shared blocks. */
function createPile(): Pile {
  let chunks: Buffer[] = [];
  const blocks: Buffer[] = [];
  let free: Buffer = Buffer.alloc(0);
  let size = 0;

  function share(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (free.length === 0) {
        free = Buffer.from(new SharedArrayBuffer(BLOCK_BYTES));
        blocks.push(free);
      }
      const taken = rest.copy(free);
      free = free.subarray(taken);
      rest = rest.subarray(taken);
    }
  }

  return {
    add(chunk) {
      size += chunk.length;
      if (size <= SHARED_FROM_BYTES) {
        chunks.push(chunk);
        return;
      }
      for (const one of chunks) share(one);
      chunks = [];
      share(chunk);
    },
    pieces() {
      if (blocks.length === 0) return [Buffer.concat(chunks)];
      const last = blocks.length - 1;
      return blocks.map((block, index) =>
        index === last ? block.subarray(0, block.length - free.length) : block,
      );
    },
  };
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('upstream_too_large', {
    detail: `The platform's answer is larger than ${maxBytes} bytes.`,
  });
}

/** @returns the stream that undoes one content coding, or null when there is none (RFC 9110, section 8.4). */
export function decoderOf(encoding: string | undefined, stream: Readable): Transform | null {
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return null;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      stream.destroy();
      throw new GatewayError('upstream_invalid_response', { internal: `content-encoding ${encoding}` });
  }
}

/** Whether it was the decoder that failed; the last of them when it was done before the body was. */
export function isDecodingError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return (
    typeof code === 'string' &&
    /^(Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_STREAM_PREMATURE_CLOSE$)/.test(code)
  );
}
