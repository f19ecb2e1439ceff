/** Reads the body of a pass-through request where it has to be checked, and looks through it elsewhere. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '../../errors.js';
import type { JsonObject } from '../../reports/rows/json.js';
import { parseJsonBody, requireJson } from '../http/json-body.js';
import { bodyTooLarge, readRequestBody } from '../http/request-body.js';
import { bodyKindOf, overrideRefused, searchOverride } from './method-override.js';
import { readUpTo } from './read-up-to.js';

export interface TakenBody {
  /** The very bytes that were checked; null when there are none, or the body is streamed. */
  readonly body: Buffer | null;
  /** The body that is streamed, looked through as it goes; null when it was read, or there is none. */
  readonly stream: Readable | null;
  /** The object in `body`, when it is JSON. */
  readonly parsed: JsonObject | null;
  /** For a guarded write: the reason why its body is not an object. */
  readonly fault?: string;
}

/**
 * Why a body is read: json: a rule looks into it, so it is JSON or refused · guarded: the same, where it is the guard
 * that refuses · whole: its bytes are compared · none: it is streamed
 */
export type BodyNeed = 'json' | 'guarded' | 'whole' | 'none';

interface Sent {
  /** Absent when the request has no body. */
  readonly stream: Readable | null | undefined;
  readonly headers: IncomingHttpHeaders;
}

const PLAIN_JSON = /^\s*application\/json\s*(?:;|$)/i;
/** In one coding, and no other charset than JSON has. */
const GUARDED_TYPE = /^\s*application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;
/** Bytes of an upload that are checked before the platform is called. */
const UPLOAD_BYTES = 65_536;

/**
 * Bodies in which a framework looks for `_method` are read whole if small, else scanned while streaming.
 *
 * @throws GatewayError `unsupported_media_type`, `invalid_body`, `body_too_large`
 */
export async function takeBody(
  { stream, headers }: Sent,
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
      return { ...none, body, parsed: parseJsonBody(body) };
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
    // Broken off there, the platform never has the whole, and does nothing.
    if (search(piece)) throw overrideRefused();
  };
  const { whole: body, rest } = await readUpTo(stream, most, { look });
  if (body === null && isWhole) throw bodyTooLarge(maxBytes);
  return {
    body,
    stream: rest,
    parsed: body !== null && PLAIN_JSON.test(type ?? '') ? parseJsonBody(body) : null,
  };
}
