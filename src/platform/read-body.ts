/** Reads a platform answer to its end: decoded, bounded, and whole. */
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../errors.js';

/**
 * @param encoding the `content-encoding` header, lower case, or undefined
 * @param maxBytes limit of the decoded size: a small compressed body may be a large one
 * @throws GatewayError `upstream_too_large`, or `upstream_invalid_response` for an encoding that cannot be read;
 *   stream errors (reset, truncation, abort) pass through for the caller to judge
 */
export async function readBody(
  stream: Readable,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const decoder = decoderOf(encoding, stream);
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  };
  try {
    await (decoder === null ? pipeline(stream, collect) : pipeline(stream, decoder, collect));
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
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
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
function isDecodingError(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return (
    typeof code === 'string' &&
    /^(Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING|ERR_STREAM_PREMATURE_CLOSE$)/.test(code)
  );
}
