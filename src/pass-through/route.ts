/**
 * Everything under `/api/v1/` that is not a report: streamed to the platform and back by @fastify/http-proxy, with
 * the gateway's client underneath, so that token, budget, pause and retries are the same for all calls.
 */
import type { Readable } from 'node:stream';
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticate.js';
import type { Identify } from '../auth/identify.js';
import type { RouteRule } from '../config/schema.js';
import { asGatewayError, GatewayError } from '../errors.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { whenOver } from '../http/when-over.js';
import type { TeamLimits } from '../limits/team-limits.js';
import type { PlatformClient } from '../platform/client.js';
import type { CallReport, PlatformRequest, Response } from '../platform/slot.js';
import type { StreamPlaces } from '../platform/stream-places.js';
import { admit } from '../policy/authorize.js';
import { addCall } from '../telemetry/trace.js';
import { type CleanAnswer, type CleanOptions, cleanAnswer, returnedHeaders } from './clean-answer.js';
import type { Idempotency, KeyedRequest } from './idempotency.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { canonicalFingerprint, fingerprint } from './idempotency-record.js';
import {
  checkAccount,
  checkBody,
  checkQuery,
  findRule,
  mustReadBody,
  type PassRules,
  scopeOf,
} from './pass.js';
import { KEPT_MAX_BYTES, takeAnswer } from './take-answer.js';
import { takeBody } from './take-body.js';

export interface PassThroughOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
  readonly platform: PlatformClient;
  readonly idempotency: Idempotency;
  readonly rules: PassRules;
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
  /** Places of calls whose answers are streamed. */
  readonly places: StreamPlaces;
  readonly answers: CleanOptions;
}

/** What the checks found, for the call that follows them. */
interface Passage {
  readonly caller: Caller;
  readonly rule: RouteRule | undefined;
  readonly query: string;
  /** The very bytes that were checked; null when the body is streamed. */
  readonly body: Buffer | null;
  /** Set for a POST that carries an idempotency key. */
  readonly keyed: KeyedRequest | null;
  /** Aborted when the caller is gone. */
  readonly gone: AbortSignal;
}

declare module 'fastify' {
  interface FastifyRequest {
    passage: Passage | null;
  }
}

/** Of the caller's headers only these go on: an allow-list, since no deny-list knows all spellings. */
const REQUEST_HEADERS = new Set([
  'accept-language',
  'content-language',
  'content-length',
  'content-type',
  'content-encoding',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
  'prefer',
]);

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Rides on the headers object from the route to the client: reply-from copies it, symbols and all. */
const REQUEST = Symbol('request');
type CarriedHeaders = Record<string, string | undefined> & { [REQUEST]?: FastifyRequest };

export function registerPassThrough(app: FastifyInstance, options: PassThroughOptions): void {
  app.decorateRequest('passage', null);
  void app.register(httpProxy, {
    // The client knows the platform's address; this one is never asked.
    upstream: 'http://platform.invalid',
    prefix: '/api/v1',
    rewritePrefix: '/api/v1',
    httpMethods: METHODS,
    disableRequestLogging: true,
    disableCache: true,
    undici: {
      request: (request: ProxiedRequest, done: Done) =>
        void forward(request, options).then((response) => done(null, response), done),
    },
    preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
      request.passage = { ...(await check(request, reply, options)), gone: goneSignal(reply) };
    },
    handler: (request: FastifyRequest, reply: FastifyReply, destination: string, replyOptions: object) => {
      const body = request.passage?.body ?? null;
      const contentType = request.headers['content-type'] ?? '';
      const bytes = body === null ? {} : { body: body.length === 0 ? null : body, contentType };
      return reply.from(destination, { ...replyOptions, ...bytes });
    },
    replyOptions: {
      queryString: (_search: string | undefined, _url: string, request: FastifyRequest) =>
        request.passage?.query ?? '',
      rewriteRequestHeaders: (request: FastifyRequest, headers: Record<string, unknown>) =>
        carry(request, headers),
      rewriteHeaders: returnedHeaders,
      // The gateway's own retry policy holds; reply-from's takes the unit of retry-after for milliseconds.
      retryDelay: () => null,
      onError: (reply: FastifyReply, { error }: { error: Error }) => {
        void reply.send(asGatewayError(error.cause instanceof GatewayError ? error.cause : error));
      },
    },
  } as unknown as FastifyHttpProxyOptions & { websocket: false });
}

/** identify → admit → enter → query → body → account, before anything is sent. */
async function check(
  request: FastifyRequest,
  reply: FastifyReply,
  { identify, limits, rules, maxBodyBytes }: PassThroughOptions,
): Promise<Omit<Passage, 'gone'>> {
  const [path = '', query = ''] = splitTarget(request.raw.url ?? '');
  request.trace.subject = path;
  request.trace.outcome = 'pass';
  const caller = identify(readKeyHeaders(request.raw), request.trace);
  const rule = findRule(request.method, path, rules);
  admit({ caller, address: request.ip, scope: scopeOf(request.method, rule) });
  await limits.enter(caller.team, whenOver(reply));
  const key = request.method === 'POST' ? readIdempotencyKey(request.raw) : null;
  const checked = checkQuery(query);
  const { body, stream, parsed } = await takeBody(
    { stream: request.body as Readable | null | undefined, headers: request.headers },
    mustReadBody(caller, rule) || key !== null,
    maxBodyBytes,
  );
  // What reply-from streams, where there is no buffer.
  if (stream !== null) request.body = stream;
  if (parsed !== null) checkBody(parsed);
  checkAccount(caller, rule, checked.pairs, parsed, rules, path);
  const asked = { method: request.method, path, query: checked.text, body };
  const { 'content-type': contentType, 'if-match': ifMatch } = request.headers;
  const canonical = () => canonicalFingerprint({ ...asked, body: parsed, contentType, ifMatch });
  const keyed =
    key === null ? null : { team: caller.team.id, key, request: fingerprint(asked), canonical: canonical() };
  return { caller, rule, query: checked.text, body, keyed };
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

function splitTarget(target: string): [string, string] {
  const cut = target.indexOf('?');
  return cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut + 1)];
}

function carry(request: FastifyRequest, headers: Record<string, unknown>): CarriedHeaders {
  const kept: CarriedHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (REQUEST_HEADERS.has(name) && value !== undefined) kept[name] = String(value);
  }
  kept[REQUEST] = request;
  return kept;
}

interface ProxiedRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: CarriedHeaders;
  readonly body: PlatformRequest['body'];
}

type Done = (error: Error | null, response?: CleanAnswer) => void;

async function forward(asked: ProxiedRequest, options: PassThroughOptions): Promise<CleanAnswer> {
  const request = asked.headers[REQUEST] as FastifyRequest;
  const { keyed } = request.passage as Passage;
  const clean = (response: Response) => cleanAnswer(response, asked.method, options.answers);
  const note = (call: CallReport) => addCall(request.trace, call);
  if (keyed === null) return send(asked, options, note, async (response) => clean(response));
  const { answer, replayed } = await options.idempotency.once(keyed, (onTry) => {
    const noteTwice = (call: CallReport) => {
      onTry(call);
      note(call);
    };
    return send(asked, options, noteTwice, (response) => takeAnswer(clean(response), KEPT_MAX_BYTES));
  });
  if (replayed) request.trace.outcome = 'replay';
  return answer;
}

/** Takes a place for the answer first, and lets go of it when the platform's part is over. */
async function send<T>(
  { path, method, headers, body }: ProxiedRequest,
  { platform, places, timeoutMs }: PassThroughOptions,
  onTry: (call: CallReport) => void,
  consume: (response: Response) => Promise<T>,
): Promise<T> {
  const request = headers[REQUEST] as FastifyRequest;
  const { caller, rule, gone } = request.passage as Passage;
  const isRead = method === 'GET' || method === 'HEAD';
  const sent: Record<string, string> = { 'accept-encoding': 'identity' };
  for (const [name, value] of Object.entries(headers)) {
    if (REQUEST_HEADERS.has(name) && value !== undefined) sent[name] = value;
  }
  const startedMs = performance.now();
  const leave = await places.enter(caller.team.id, timeoutMs, gone);
  const call = {
    method,
    target: path,
    body: body === '' ? null : (body ?? null),
    headers: sent,
    team: caller.team.id,
    kind: isRead ? ('read' as const) : rule?.read ? ('post-read' as const) : ('write' as const),
    timeoutMs: Math.max(1, timeoutMs - (performance.now() - startedMs)),
    // A write goes on: breaking it off would leave open what it did.
    ...(isRead ? { signal: gone } : {}),
    onCall: onTry,
  };
  try {
    return await platform.send(call, (response) => {
      response.body.once('close', leave);
      return consume(response);
    });
  } catch (error) {
    leave();
    throw error;
  }
}
