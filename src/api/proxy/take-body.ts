/** Reads the body of a pass-through request where it has to be checked, and looks through it elsewhere. */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { GatewayError } from '../../errors.js';
import type { JsonObject } from '../../reports/rows/json.js';
import { parseJsonBody, requireJson } from '../http/json-body.js';
import { bodyTooLarge, readRequestBody } from '../http/request-body.js';
import {
  type BodyKind,
  bodyKindOf,
  overrideRefused,
  type Search,
  searchOverride,
} from './method-override.js';

export interface Sent {
  /** Absent when the request has no body. */
  readonly stream: Readable | null | undefined;
  readonly headers: IncomingHttpHeaders;
}

export interface Taken {
  /** The very bytes that were checked; null when the body is to be streamed. */
  readonly body: Buffer | null;
  /** The body that is to be streamed, looked through as it goes; null when it was read, or there is none. */
  readonly stream: Readable | null;
  /** Its object, when it was read and is JSON. */
  readonly parsed: JsonObject | null;
  /** Of a guarded write: why there is no object in it. */
  readonly fault?: string;
}

/**
 * Why a body is read: json: a rule looks into it, so it is JSON or refused · guarded: the same, where it is the guard
 * that refuses · whole: its bytes are compared · none: it is streamed
 */
export type BodyNeed = 'json' | 'guarded' | 'whole' | 'none';

const PLAIN_JSON = /^\s*application\/json\s*(?:;|$)/i;
/** Of an upload so much is looked through before the platform is asked. */
const UPLOAD_BYTES = 65_536;

/**
 * What a framework would look for `_method` in is read whole when it is small, and looked through otherwise.
 *
 * @throws GatewayError `unsupported_media_type`, `invalid_body`, `body_too_large`
 */
export async function takeBody({ stream, headers }: Sent, need: BodyNeed, maxBytes: number): Promise<Taken> {
  const contentType = headers['content-type'];
  if (need === 'guarded') return await takeGuarded({ stream, headers }, maxBytes);
  if (stream === undefined || stream === null) return { body: null, stream: null, parsed: null };
  if (need === 'json') {
    requireJson(contentType, headers['content-encoding']);
    const body = await readRequestBody(stream, headers, maxBytes);
    return { body, stream: null, parsed: parseJsonBody(body) };
  }
  const kind = bodyKindOf(contentType);
  const isWhole = need === 'whole';
  if (kind === null || headers['content-encoding'] !== undefined) {
    return isWhole
      ? { body: await readRequestBody(stream, headers, maxBytes), stream: null, parsed: null }
      : { body: null, stream, parsed: null };
  }
  const most = kind === 'multipart' && !isWhole ? UPLOAD_BYTES : maxBytes;
  const { body, rest } = await lookThrough(stream, kind, most);
  if (body === null && isWhole) throw bodyTooLarge(maxBytes);
  if (body === null) return { body, stream: rest, parsed: null };
  return { body, stream: null, parsed: PLAIN_JSON.test(contentType ?? '') ? parseJsonBody(body) : null };
}

/** In one coding, and no other charset than JSON has. */
const GUARDED_TYPE = /^\s*application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** @throws GatewayError `unsupported_media_type`, `body_too_large` */
async function takeGuarded({ stream, headers }: Sent, maxBytes: number): Promise<Taken> {
  if (stream === undefined || stream === null)
    return { body: null, stream: null, parsed: null, fault: 'there is none' };
  const contentType = headers['content-type'];
  requireJson(contentType, headers['content-encoding']);
  if (!GUARDED_TYPE.test(contentType ?? ''))
    throw new GatewayError('unsupported_media_type', {
      detail: 'The content-type of a guarded write must be application/json, in UTF-8.',
    });
  const body = await readRequestBody(stream, headers, maxBytes);
  try {
    return { body, stream: null, parsed: parseJsonBody(body) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { body, stream: null, parsed: null, fault: error.options.detail ?? error.message };
  }
}

/** @returns the whole when it is no longer than `maxBytes`, else what streams it, beginning included */
async function lookThrough(
  stream: Readable,
  kind: Exclude<BodyKind, null>,
  maxBytes: number,
): Promise<{ body: Buffer; rest: null } | { body: null; rest: Readable }> {
  const search = searchOverride(kind);
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const taken: Buffer[] = [];
  let size = 0;
  while (size <= maxBytes) {
    const next = await pieces.next();
    if (next.done) {
      if (search.end()) throw overrideRefused();
      return { body: Buffer.concat(taken), rest: null };
    }
    if (search.find(next.value)) throw overrideRefused();
    taken.push(next.value);
    size += next.value.length;
  }
  return { body: null, rest: Readable.from(continued(taken, pieces, search), { objectMode: false }) };
}

/** Breaks off where the override turns up: the platform never has the whole, and does nothing. */
async function* continued(
  taken: readonly Buffer[],
  pieces: AsyncIterator<Buffer>,
  search: Search,
): AsyncGenerator<Buffer> {
  try {
    yield* taken;
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      if (search.find(next.value)) throw overrideRefused();
      yield next.value;
    }
    if (search.end()) throw overrideRefused();
  } finally {
    await pieces.return?.();
  }
}
