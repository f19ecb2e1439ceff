/** Reads the body of a pass-through request if it must be checked, else scans it while streaming. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '../../errors.js';
import type { JsonObject } from '../../reports/rows/json.js';
import { type BodyLimits, parseJsonBody, requireJson } from '../http/json-body.js';
import { bodyTooLarge, readRequestBody } from '../http/request-body.js';
import { bodyKindOf, overrideRefused, searchOverride } from './method-override.js';
import { readUpTo } from './read-up-to.js';

export interface TakenBody {
  /** The checked bytes; null without a body, or if it is streamed. */
  readonly body: Buffer | null;
  /** The streamed body, scanned on the way; null without a body, or if it was read. */
  readonly stream: Readable | null;
  /** The object in a JSON `body`. */
  readonly parsed: JsonObject | null;
  /** For a guarded write: the reason why its body is not an object. */
  readonly fault?: string;
}

/**
 * Why a body is read. json: its content is checked, so other bodies are refused; guarded: the same, but the write guard
 * refuses; whole: its bytes are compared; none: it is streamed
 */
export type BodyNeed = 'json' | 'guarded' | 'whole' | 'none';

/** Each member is looked at by several checks, in one turn of the event loop. */
const BODY_LIMITS: BodyLimits = { maxMembers: 10_000, maxItems: 100_000 };

const PLAIN_JSON = /^\s*application\/json\s*(?:;|$)/i;
/** One content type, without a charset other than UTF-8. */
const GUARDED_TYPE = /^\s*application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;
/** Bytes of an upload that are checked before the platform is called. */
const UPLOAD_BYTES = 65_536;

/**
 * Bodies in which a framework looks for `_method` are read whole if small, else scanned while streaming.
 * @throws GatewayError `unsupported_media_type`, `invalid_body`, `body_too_large`
 */
export async function takeBody(
  {
    stream,
    headers,
  }: { readonly stream: Readable | null | undefined; readonly headers: IncomingHttpHeaders },
  need: BodyNeed,
  maxBytes: number,
): Promise<TakenBody> {
  const none = { body: null, stream: null, parsed: null };
  if (stream === undefined || stream === null)
    return need === 'guarded' ? { ...none, fault: 'there is none' } : none;
  const { 'content-type': type, 'content-encoding': coding } = headers;
  if (need === 'json' || need === 'guarded') {
    requireJson(type, coding);
    if (need === 'guarded' && !GUARDED_TYPE.test(type ?? ''))
      throw new GatewayError('unsupported_media_type', {
        detail: 'The content-type of a guarded write must be application/json, in UTF-8.',
      });
    const body = await readRequestBody(stream, headers, maxBytes);
    try {
      return { ...none, body, parsed: parseJsonBody(body, BODY_LIMITS) };
    } catch (error) {
      if (need === 'json' || !(error instanceof GatewayError)) throw error;
      return { ...none, body, fault: error.options.detail ?? error.message };
    }
  }
  const isWhole = need === 'whole';
  const kind = coding === undefined ? bodyKindOf(type) : null;
  if (kind === null)
    return isWhole
      ? { ...none, body: await readRequestBody(stream, headers, maxBytes) }
      : { ...none, stream };
  const search = searchOverride(kind);
  const most = kind === 'multipart' && !isWhole ? UPLOAD_BYTES : maxBytes;
  const look = (piece: Buffer | null): void => {
    // An incomplete body has no effect on the platform.
    if (search(piece)) throw overrideRefused();
  };
  const { whole: body, rest } = await readUpTo(stream, most, { look });
  if (body === null && isWhole) throw bodyTooLarge(maxBytes);
  return {
    body,
    stream: rest,
    parsed: body !== null && PLAIN_JSON.test(type ?? '') ? parseJsonBody(body, BODY_LIMITS) : null,
  };
}
