/** The platform's answer to a pass-through request, made fit to be streamed to the caller. */
import { pipeline, type Readable } from 'node:stream';
import { type Headers, invalid, single } from '../../platform/interpret.js';
import { decoderOf } from '../../platform/read-body.js';
import { holdsToken, maskStream } from '../../platform/scrub.js';
import type { Response } from '../../platform/slot.js';
import type { AnswerBuffers } from './answer-buffers.js';
import { createOutlet } from './outlet.js';
import type { PatienceRules } from './read-patience.js';

/** Of the platform's headers only these come back; none of ranges, which are not passed on. */
const RESPONSE_HEADERS = new Set([
  'content-disposition',
  'content-language',
  'content-length',
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

export interface CleanOptions extends PatienceRules {
  readonly buffers: AnswerBuffers;
  /** Asked once a second while the answer lasts. @throws GatewayError when its caller may not have more of it */
  readonly assertStillAllowed: () => void;
}

/**
 * The platform's answer without its token, in plain coding, cut off when it falls silent, or the caller does not read.
 * What is small waits for the caller here, and no longer at the platform.
 *
 * @throws GatewayError `upstream_invalid_response` for a coding that cannot be undone, and for a part of a body
 */
export function cleanAnswer(response: Response, method: string, options: CleanOptions): CleanAnswer {
  if (response.status === 206) throw invalid('status 206 where no range was asked for');
  const coding = decoderOf(single(response.headers['content-encoding']), response.body);
  // Nothing to decode where there is no body (RFC 9110, section 6.4.1); a decoder would miss its beginning.
  const bodiless = method === 'HEAD' || response.status === 204 || response.status === 304;
  const { 'content-length': length, ...headers } = shownHeaders(response);
  // A decoded body has another length; a masked one has not.
  const known = coding === null && length !== undefined;
  const buffer = options.buffers.take(bodiless ? 0 : known ? Number(length) : null);
  const outlet = createOutlet(options, buffer.bytes, options.assertStillAllowed);
  outlet.once('close', buffer.giveBack);
  const mask = maskStream(response.token);
  const ended = () => {};
  if (coding === null || bodiless) pipeline(response.body, mask, outlet, ended);
  else pipeline(response.body, coding, mask, outlet, ended);
  return {
    statusCode: response.status,
    headers: known ? { ...headers, 'content-length': length } : headers,
    body: outlet,
  };
}

function shownHeaders({ headers, token }: Response): Headers {
  const hopByHop = namesIn(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) =>
        RESPONSE_HEADERS.has(name.toLowerCase()) &&
        !hopByHop.has(name.toLowerCase()) &&
        !holdsToken(Buffer.from(String(value), 'latin1'), token),
    ),
  );
}

/** What `connection` names is for the next hop alone (RFC 9110, section 7.6.1). */
function namesIn(connection: string | string[] | undefined): ReadonlySet<string> {
  return new Set(
    String(connection ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
}

/** What a caller is sent of an answer's headers, beside those that say where it is from. */
export function returnedHeaders(headers: Headers): Headers {
  return { 'cache-status': 'dsp-gateway; fwd=bypass', ...headers, 'cache-control': 'private, no-store' };
}
