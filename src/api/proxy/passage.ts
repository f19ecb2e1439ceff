/** What is known of a pass-through request, step by step: who asks, and what they ask the platform for. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteRule } from '../../config/schema.js';
import { GatewayError } from '../../errors.js';
import type { QueryPair } from '../../reports/query/given-parameters.js';
import type { JsonObject } from '../../reports/rows/json.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import type { TeamLimits } from '../../teams/limits/team-limits.js';
import { checkCaller } from '../../teams/policy/authorize.js';
import { nameInLife } from '../../teams/team-life.js';
import type { Trace } from '../../telemetry/trace.js';
import { parseJsonBody, requireJson } from '../http/json-body.js';
import { onResponseClosed } from '../http/on-response-closed.js';
import { bodyTooLarge, readRequestBody } from '../http/request-body.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { checkBody, checkQuery, findRule, isWrite, mustReadBody, type PassRules, scopeOf } from './checks.js';
import type { Charge, Guarding } from './guarding.js';
import type { KeyedRequest } from './idempotency.js';
import { canonicalFingerprint, fingerprint } from './idempotency-record.js';
import {
  type BodyKind,
  bodyKindOf,
  overrideRefused,
  type Search,
  searchOverride,
} from './method-override.js';

// The idempotency key of a request.

const HEADER = 'idempotency-key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * @returns null when there is none
 * @throws GatewayError `invalid_request` for two of them, or one that is not 1 to 255 printable ASCII characters
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | null {
  // `headers` joins two of them into one that nobody sent.
  const given = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === HEADER,
  );
  const [key, second] = given;
  if (key === undefined) return null;
  if (second === undefined && KEY.test(key)) return key;
  throw new GatewayError('invalid_request', {
    detail: `${HEADER} must be given once, as 1 to 255 printable ASCII characters.`,
  });
}

// Reads the body of a pass-through request where it has to be checked, and looks through it elsewhere.

interface Sent {
  /** Absent when the request has no body. */
  readonly stream: Readable | null | undefined;
  readonly headers: IncomingHttpHeaders;
}

interface RequestTypes {
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
type BodyNeed = 'json' | 'guarded' | 'whole' | 'none';

const PLAIN_JSON = /^\s*application\/json\s*(?:;|$)/i;
/** Of an upload so much is looked through before the platform is asked. */
const UPLOAD_BYTES = 65_536;

/**
 * What a framework would look for `_method` in is read whole when it is small, and looked through otherwise.
 *
 * @throws GatewayError `unsupported_media_type`, `invalid_body`, `body_too_large`
 */
export async function takeBody(
  { stream, headers }: Sent,
  need: BodyNeed,
  maxBytes: number,
): Promise<RequestTypes> {
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
async function takeGuarded({ stream, headers }: Sent, maxBytes: number): Promise<RequestTypes> {
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

const CHECKSUM = 'x-write-checksum';

/** Who asks which route. */
export interface PassContext {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly rule: RouteRule | undefined;
  readonly trace: Trace;
  /** Aborted when the caller is gone. */
  readonly gone: AbortSignal;
}

/** What they ask it for. */
export interface Question {
  readonly pairs: readonly QueryPair[];
  /** The query, in the spelling in which it was checked. */
  readonly query: string;
  /** The very bytes that were checked; null when there are none, or the body is streamed. */
  readonly body: Buffer | null;
  /** The body that is streamed, checked as it goes; null when it was read, or there is none. */
  readonly stream: Readable | null;
  /** The object in `body`, when it is JSON. */
  readonly parsed: JsonObject | null;
  /** Of a guarded write: why there is no object in its body; null where there is one, or it is none of a guard's. */
  readonly fault: string | null;
  /** Set for a POST that carries an idempotency key. */
  readonly keyed: KeyedRequest | null;
  /** Whether nothing is to be sent. */
  readonly dryRun: boolean;
  /** `x-write-checksum`: of what its caller has looked at. */
  readonly givenChecksum: string | null;
}

/** A request that passed every check. Nothing else is sent to the platform. */
export type Passage = PassContext &
  Question & {
    /**
     * Passes a write through its checks once more, by what holds when its turn has come.
     * @returns what it takes of its day; null for a write that no rule is for
     * @throws GatewayError as on arrival; `write_guard_unavailable` where its body was not read as it would be now
     */
    readonly judgeAgain: () => Charge | null;
    /** @throws GatewayError 401, 403 when its caller may not use this route any more */
    readonly assertStillAllowed: () => void;
  };

export interface AdmitOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
  readonly rules: PassRules;
}

/**
 * Who it is, and whether they may use this route now.
 * @throws GatewayError 401, 403, 429
 */
export async function admitCaller(
  request: FastifyRequest,
  reply: FastifyReply,
  { identify, limits, rules }: AdmitOptions,
): Promise<PassContext> {
  const { method, trace } = request;
  const [path] = splitTarget(request);
  trace.subject = path;
  trace.outcome = 'pass';
  const rule = findRule(method, path, rules);
  const caller = recognize(request, rule, identify);
  await limits.enter(caller.team, onResponseClosed(reply.raw));
  return { caller, method, path, rule, trace, gone: goneSignal(reply) };
}

/** Who it is as of now, and whether they may use this route. @throws GatewayError 401, 403 */
export function recognize(
  { method, raw, ip, trace }: FastifyRequest,
  rule: RouteRule | undefined,
  identify: Identify,
): Caller {
  const caller = identify(readKeyHeaders(raw), trace);
  checkCaller(caller, ip, scopeOf(method, rule));
  return caller;
}

/**
 * What is asked, in a spelling and in bytes that the platform can read in one way only. Says nothing of accounts.
 * @throws GatewayError `invalid_request`, `invalid_query`, `invalid_body`, `body_too_large`, `unsupported_media_type`
 */
export async function readQuestion(
  request: FastifyRequest,
  { caller, method, path, rule }: PassContext,
  guarding: Guarding,
  maxBodyBytes: number,
): Promise<Question> {
  const given = readIdempotencyKey(request.raw);
  if (given !== null && isWrite(method, rule) && method !== 'POST')
    throw new GatewayError('invalid_request', { detail: 'idempotency-key is for POST alone; leave it out.' });
  const key = method === 'POST' ? given : null;
  const { pairs, text: query, dryRun } = checkQuery(splitTarget(request)[1], isWrite(method, rule));
  const { headers } = request;
  const givenChecksum = readChecksum(headers, isWrite(method, rule));
  const reads = mustReadBody(caller, rule) || key !== null;
  const need = needOf(guarding, reads, dryRun || givenChecksum !== null);
  const {
    body,
    stream,
    parsed,
    fault = null,
  } = await takeBody({ stream: request.body as Readable | null | undefined, headers }, need, maxBodyBytes);
  if (parsed !== null) checkBody(parsed);
  const asked = { method, path, query };
  const { 'content-type': contentType, 'if-match': ifMatch } = headers;
  const keyed = key !== null && {
    team: nameInLife(caller.team.id, caller.key.life),
    key,
    request: fingerprint({ ...asked, body }),
    canonical: canonicalFingerprint({ ...asked, body: parsed, contentType, ifMatch }),
  };
  return { pairs, query, body, stream, parsed, fault, keyed: keyed || null, dryRun, givenChecksum };
}

function needOf({ kind }: Guarding, reads: boolean, compares: boolean): BodyNeed {
  if (kind === 'ruled') return 'guarded';
  if (reads) return 'json';
  return compares ? 'whole' : 'none';
}

function readChecksum({ [CHECKSUM]: given }: IncomingHttpHeaders, takesOne: boolean): string | null {
  if (given === undefined) return null;
  if (takesOne) return String(given);
  throw new GatewayError('invalid_request', { detail: `${CHECKSUM} is for writes alone.` });
}

/** @returns path and query as received; the router's own have been decoded */
function splitTarget({ raw: { url: target = '' } }: FastifyRequest): [string, string] {
  const cut = target.indexOf('?');
  return cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut + 1)];
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    // 499 as nginx has it: there is nobody to be told, this is for the log.
    if (!raw.writableFinished)
      gone.abort(new GatewayError('invalid_request', { status: 499, detail: 'The caller is gone.' }));
  });
  return gone.signal;
}
