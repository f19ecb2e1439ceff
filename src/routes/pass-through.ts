/**
 * Everything under `/api/v1/` that is not a report: streamed to the platform and back by @fastify/http-proxy, with
 * the gateway's client underneath, so that token, budget, pause and retries are the same for all calls.
 */
import { pipeline, type Readable } from 'node:stream';
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticate.js';
import type { RouteRule } from '../config/schema.js';
import { asGatewayError, GatewayError } from '../errors.js';
import { parseJsonBody, requireJson } from '../http/json-body.js';
import { readKeyHeaders } from '../http/request-keys.js';
import type { Call, PlatformClient, Response } from '../platform/client.js';
import { type Headers, single } from '../platform/interpret.js';
import { decoderOf } from '../platform/read-body.js';
import { maskStream } from '../platform/scrub.js';
import { admit } from '../policy/authorize.js';
import type { JsonObject } from '../report/json.js';
import type { Identify } from '../stages/identify.js';
import {
  checkAccount,
  checkBody,
  checkQuery,
  findRule,
  mustReadBody,
  type PassRules,
  scopeOf,
} from '../stages/pass.js';
import { addCall } from '../telemetry/trace.js';

export interface PassThroughOptions {
  readonly identify: Identify;
  readonly platform: PlatformClient;
  readonly rules: PassRules;
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
}

/** What the checks found, for the call that follows them. */
interface Passage {
  readonly caller: Caller;
  readonly rule: RouteRule | undefined;
  readonly query: string;
  /** The very bytes that were checked; null when the body is streamed. */
  readonly body: Buffer | null;
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

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

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
    preHandler: async (request: FastifyRequest) => {
      request.passage = await check(request, options);
    },
    handler: (request: FastifyRequest, reply: FastifyReply, destination: string, replyOptions: object) => {
      const body = request.passage?.body ?? null;
      const bytes =
        body === null ? {} : { body: body.length === 0 ? null : body, contentType: 'application/json' };
      return reply.from(destination, { ...replyOptions, ...bytes });
    },
    replyOptions: {
      queryString: (_search: string | undefined, _url: string, request: FastifyRequest) =>
        request.passage?.query ?? '',
      rewriteRequestHeaders: (request: FastifyRequest, headers: Record<string, unknown>) =>
        carry(request, headers),
      rewriteHeaders: (headers: Record<string, unknown>) => returnedHeaders(headers),
      // The gateway's own retry policy holds; reply-from's takes the unit of retry-after for milliseconds.
      retryDelay: () => null,
      onError: (reply: FastifyReply, { error }: { error: Error }) => {
        void reply.send(asGatewayError(error.cause instanceof GatewayError ? error.cause : error));
      },
    },
  } as unknown as FastifyHttpProxyOptions & { websocket: false });
}

/** identify → admit → query → body → account, before anything is sent. */
async function check(
  request: FastifyRequest,
  { identify, rules, maxBodyBytes }: PassThroughOptions,
): Promise<Passage> {
  const [path = '', query = ''] = splitTarget(request.raw.url ?? '');
  request.trace.subject = path;
  request.trace.outcome = 'pass';
  const caller = identify(readKeyHeaders(request.raw), request.trace);
  const rule = findRule(request.method, path, rules);
  admit({ caller, address: request.ip, scope: scopeOf(request.method, rule) });
  const checked = checkQuery(query);
  const { body, parsed } = await readBody(request, mustReadBody(caller, rule), maxBodyBytes);
  if (parsed !== null) checkBody(parsed);
  checkAccount(caller, rule, checked.pairs, parsed, rules);
  return { caller, rule, query: checked.text, body };
}

function splitTarget(target: string): [string, string] {
  const cut = target.indexOf('?');
  return cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut + 1)];
}

/** Small JSON is read even where it could be streamed: `_method` in it would change what the call does. */
async function readBody(
  request: FastifyRequest,
  required: boolean,
  maxBytes: number,
): Promise<{ body: Buffer | null; parsed: JsonObject | null }> {
  const stream = request.body as Readable | undefined;
  if (stream === undefined || stream === null) return { body: null, parsed: null };
  const { headers } = request;
  const length = Number(headers['content-length'] ?? Number.NaN);
  const isJson = /^\s*application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
  if (!required && !(isJson && length <= maxBytes && headers['content-encoding'] === undefined)) {
    return { body: null, parsed: null };
  }
  requireJson(headers['content-type'], headers['content-encoding']);
  const body = await collect(stream, maxBytes);
  return { body, parsed: parseJsonBody(body) };
}

async function collect(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new GatewayError('body_too_large', {
        detail: `The body must be at most ${maxBytes} bytes.`,
        headers: { connection: 'close' },
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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
  readonly body: Call['body'];
}

interface ProxiedResponse {
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: Readable;
}

type Done = (error: Error | null, response?: ProxiedResponse) => void;

async function forward(
  { path, method, headers, body }: ProxiedRequest,
  options: PassThroughOptions,
): Promise<ProxiedResponse> {
  const request = headers[REQUEST] as FastifyRequest;
  const { caller, rule } = request.passage as Passage;
  const sent: Record<string, string> = { 'accept-encoding': 'identity' };
  for (const [name, value] of Object.entries(headers)) {
    if (REQUEST_HEADERS.has(name) && value !== undefined) sent[name] = value;
  }
  return options.platform.send(
    {
      method,
      target: path,
      headers: sent,
      body: body === '' ? null : (body ?? null),
      team: caller.team.id,
      kind: method === 'GET' || method === 'HEAD' ? 'read' : rule?.read ? 'post-read' : 'write',
      timeoutMs: options.timeoutMs,
      onTry: (call) => addCall(request.trace, call),
    },
    async (response) => clean(response, options.timeoutMs),
  );
}

/** The platform's answer without its token, in plain coding, cut off when it falls silent. */
function clean(response: Response, idleMs: number): ProxiedResponse {
  const encoding = single(response.headers['content-encoding']);
  const decoder = decoderOf(encoding, response.body);
  const mask = maskStream(response.token);
  const silence = setTimeout(() => response.body.destroy(new GatewayError('upstream_timeout')), idleMs);
  response.body.on('data', () => silence.refresh());
  response.body.once('close', () => clearTimeout(silence));
  const ended = () => {};
  const body =
    decoder === null ? pipeline(response.body, mask, ended) : pipeline(response.body, decoder, mask, ended);
  const { 'content-length': length, ...headers } = withoutToken(response);
  // A decoded body has another length; a masked one has not.
  return {
    statusCode: response.status,
    headers: decoder === null && length !== undefined ? { ...headers, 'content-length': length } : headers,
    body,
  };
}

function withoutToken({ headers, token }: Response): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => !String(value).includes(token)));
}

function returnedHeaders(headers: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(headers).filter(([name]) => RESPONSE_HEADERS.has(name.toLowerCase()));
  return {
    ...Object.fromEntries(kept),
    'cache-control': 'private, no-store',
    'cache-status': 'dsp-gateway; fwd=bypass',
  };
}
