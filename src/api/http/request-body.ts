/** Reads the body of a request on demand, up to its limit. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '../../errors.js';

/** @throws GatewayError `body_too_large`, by content-length, or else by the bytes received */
export async function readRequestBody(
  stream: Readable,
  headers: IncomingHttpHeaders,
  maxBytes: number,
): Promise<Buffer> {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function bodyTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('body_too_large', {
    detail: `The body must be at most ${maxBytes} bytes.`,
    headers: { connection: 'close' },
  });
}
