/** Reads the body of a request on demand, up to its limit. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { requireJson } from './json-body.js';

/** Registers routes in a separate scope, where only the handlers read bodies. */
export function withUnreadBodies(app: FastifyInstance, routes: (scope: FastifyInstance) => void): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, stream, done) => done(null, stream));
    routes(scope);
  });
}

/**
 * @returns the bytes of a JSON body; none without a body
 * @throws GatewayError `unsupported_media_type`, `body_too_large`
 */
export async function readJsonBytes(
  { headers, body }: Pick<FastifyRequest, 'headers' | 'body'>,
  maxBytes: number,
): Promise<Buffer> {
  requireJson(headers['content-type'], headers['content-encoding']);
  return body === undefined ? Buffer.alloc(0) : readRequestBody(body as Readable, headers, maxBytes);
}

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
