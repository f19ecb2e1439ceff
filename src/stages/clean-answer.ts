/** Stage: the platform's answer to a pass-through request, made fit to be streamed to the caller. */
import { pipeline, type Readable } from 'node:stream';
import { GatewayError } from '../errors.js';
import type { Response } from '../platform/client.js';
import { type Headers, single } from '../platform/interpret.js';
import { decoderOf } from '../platform/read-body.js';
import { maskStream } from '../platform/scrub.js';

/** Of the platform's headers only these come back. */
const RESPONSE_HEADERS = new Set([
  'accept-ranges',
  'content-disposition',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
]);

export interface CleanAnswer {
  readonly statusCode: number;
  /** Those a caller is shown. */
  readonly headers: Headers;
  readonly body: Readable;
}

/**
 * The platform's answer without its token, in plain coding, cut off when it falls silent.
 *
 * @param idleMs longest silence
 * @throws GatewayError `upstream_invalid_response` for a coding that cannot be undone
 */
export function cleanAnswer(response: Response, method: string, idleMs: number): CleanAnswer {
  const coding = decoderOf(single(response.headers['content-encoding']), response.body);
  // Nothing to decode where there is no body (RFC 9110, section 6.4.1); a decoder would miss its beginning.
  const bodiless = method === 'HEAD' || response.status === 204 || response.status === 304;
  const decoder = bodiless ? null : coding;
  const mask = maskStream(response.token);
  const silence = setTimeout(() => response.body.destroy(new GatewayError('upstream_timeout')), idleMs);
  response.body.on('data', () => silence.refresh());
  response.body.once('close', () => clearTimeout(silence));
  const ended = () => {};
  const body =
    decoder === null ? pipeline(response.body, mask, ended) : pipeline(response.body, decoder, mask, ended);
  const { 'content-length': length, ...headers } = shownHeaders(response);
  // A decoded body has another length; a masked one has not.
  return {
    statusCode: response.status,
    headers: coding === null && length !== undefined ? { ...headers, 'content-length': length } : headers,
    body,
  };
}

function shownHeaders({ headers, token }: Response): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => RESPONSE_HEADERS.has(name.toLowerCase()) && !String(value).includes(token),
    ),
  );
}

/** What a caller is sent of an answer's headers, beside those that say how it was come by. */
export function returnedHeaders(headers: Headers): Headers {
  return { 'cache-status': 'dsp-gateway; fwd=bypass', ...headers, 'cache-control': 'private, no-store' };
}
