/** Stage: reads the body of a pass-through request where it has to be checked, and leaves it alone elsewhere. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { parseJsonBody, requireJson } from '../http/json-body.js';
import { readRequestBody } from '../http/request-body.js';
import type { JsonObject } from '../report/json.js';
import { checkForm } from './pass.js';

export interface Sent {
  /** Absent when the request has no body. */
  readonly stream: Readable | null | undefined;
  readonly headers: IncomingHttpHeaders;
}

const READABLE_BODY = /^\s*application\/(json|x-www-form-urlencoded)\s*(?:;|$)/i;

/**
 * Small JSON and forms are read even where they could be streamed: `_method` in them would change the call.
 *
 * @param required whether a rule has to read the body; then it is JSON or refused
 * @returns the very bytes that were checked, null when the body is to be streamed; and its object when it is JSON
 * @throws GatewayError `unsupported_media_type`, `invalid_body`, `body_too_large`
 */
export async function takeBody(
  { stream, headers }: Sent,
  required: boolean,
  maxBytes: number,
): Promise<{ body: Buffer | null; parsed: JsonObject | null }> {
  if (stream === undefined || stream === null) return { body: null, parsed: null };
  const length = Number(headers['content-length'] ?? Number.NaN);
  const kind = READABLE_BODY.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  const isSmall = kind !== undefined && length <= maxBytes && headers['content-encoding'] === undefined;
  if (!required && !isSmall) return { body: null, parsed: null };
  if (!required && kind !== 'json') {
    const form = await readRequestBody(stream, headers, maxBytes);
    checkForm(form);
    return { body: form, parsed: null };
  }
  requireJson(headers['content-type'], headers['content-encoding']);
  const body = await readRequestBody(stream, headers, maxBytes);
  return { body, parsed: parseJsonBody(body) };
}
