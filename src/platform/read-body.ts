/** Reads a whole platform response, decoded and bounded. */
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../errors.js';

/** Larger bodies use shared memory, so that another thread can read them without a copy. */
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
  const pile = new Pile();
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
    // Aborting the body would hide this error.
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

/** Collects a small body in one buffer, a large one in shared blocks. */
class Pile {
  #chunks: Buffer[] = [];
  readonly #blocks: Buffer[] = [];
  #free: Buffer = Buffer.alloc(0);
  #size = 0;

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#chunks.push(chunk);
    if (this.#size <= SHARED_FROM_BYTES) return;
    for (const one of this.#chunks) this.#share(one);
    this.#chunks = [];
  }

  #share(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#free.length === 0) {
        this.#free = Buffer.from(new SharedArrayBuffer(BLOCK_BYTES));
        this.#blocks.push(this.#free);
      }
      const taken = rest.copy(this.#free);
      this.#free = this.#free.subarray(taken);
      rest = rest.subarray(taken);
    }
  }

  pieces(): Buffer[] {
    const last = this.#blocks.pop();
    if (last === undefined) return [Buffer.concat(this.#chunks)];
    return [...this.#blocks, last.subarray(0, last.length - this.#free.length)];
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('upstream_too_large', {
    detail: `The platform's response is larger than ${maxBytes} bytes.`,
  });
}

/** @returns the stream that decodes one content coding, or null when there is none (RFC 9110, section 8.4) */
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

/** Whether the decoder failed. The last code means data after its end. */
export function isDecodingError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return (
    typeof code === 'string' &&
    /^(Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_STREAM_PREMATURE_CLOSE$)/.test(code)
  );
}
