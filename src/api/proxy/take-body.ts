/** Reads the body of a pass-through request if it must be checked; larger ones and other types are streamed. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '../../errors.js';
import type { JsonObject } from '../../reports/rows/json.js';
import { type BodyLimits, parseJsonBody, requireJson } from '../http/json-body.js';
import { readRequestBody } from '../http/request-body.js';
import { bodyKindOf, mayOverride, overrideRefused } from './method-override.js';
import { readUpTo } from './read-up-to.js';

export interface TakenBody {
  /** The checked bytes; null without a body, or if it is streamed. */
  readonly body: Buffer | null;
  /** The streamed body; null without a body, or if it was read. */
  readonly stream: Readable | null;
  /** The object in a JSON `body`. */
  readonly parsed: JsonObject | null;
  /** For a guarded write: the reason why its body is not an object. */
  readonly fault?: string;
}

/**
 * Why a body is read. json: its content is checked, so other bodies are refused; guarded: the same, but the write guard
 * refuses; whole: its bytes are compared; none: JSON and forms are searched for `_method` if small, else it is streamed. Who may
 * stream a write may also write by any method: a guard reads every body
 */
export type BodyNeed = 'json' | 'guarded' | 'whole' | 'none';

/** Each member is looked at by several checks, in one turn of the event loop. */
const BODY_LIMITS: BodyLimits = { maxMembers: 10_000, maxItems: 100_000 };

const PLAIN_JSON = /^\s*application\/json\s*(?:;|$)/i;
/** One content type, without a charset other than UTF-8. */
const GUARDED_TYPE = /^\s*application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/**
 * @param maxBytes longer bodies are refused if they must be read, else streamed
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
  const kind = coding === undefined ? bodyKindOf(type) : null;
  if (need === 'none' && kind === null) return { ...none, stream };
  const { whole: body, rest } =
    need === 'whole'
      ? { whole: await readRequestBody(stream, headers, maxBytes), rest: null }
      : await readUpTo(stream, maxBytes);
  if (body === null) return { ...none, stream: rest };
  if (kind !== null && mayOverride(kind, body)) throw overrideRefused();
  const isObject = kind === 'json' && PLAIN_JSON.test(type ?? '');
  return { ...none, body, parsed: isObject ? parseJsonBody(body, BODY_LIMITS) : null };
}
