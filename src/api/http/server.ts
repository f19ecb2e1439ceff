/** The Fastify instance of a plane: with path gate, traces, one log line per request, and problem documents. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { PROBLEM_TYPE, toProblem } from '../../lib/http/problem.js';
import { buildValidator, READING, UNSEEN } from '../../lib/http/validator.js';
import { uptimeMs, wallMs } from '../../lib/time.js';
import { GONE } from '../../outcome.js';
import type { Session } from '../../teams/sessions/sessions.js';
import { Trace } from '../../telemetry/trace.js';
import type { RequestTracing } from '../../telemetry/tracing.js';
import { dropForwardedPorts } from './caller.js';
import { registerCors } from './cors.js';
import type { Accounted } from './finish.js';
import { ambiguityOf, createGate, type GateRules, refusePath } from './path-gate.js';
import { type ProblemRules, registerProblems } from './problem-reply.js';
import { KEEP_ALIVE_MS } from './send.js';

// Requests that Node's parser refuses, and CONNECT: Fastify does not see them, so they are answered on the socket.

/** Error code for CONNECT, which is not a broken request. */
const IS_CONNECT = 'CONNECT';

type ClientError = Error & { code?: string };

interface Refused {
  readonly status: number;
  readonly code: string;
}

/** Connections with a broken request. Nothing behind it is read; Node reports the error again for each further piece. */
const broken = new WeakSet<Socket>();

function onBrokenRequest(error: ClientError, socket: Socket, onRefused: (refused: Refused) => void): void {
  if (broken.has(socket)) return;
  broken.add(socket);
  refuseInTurn(error, socket, onRefused);
}

/** After the answers to the requests before it, unless one of them closes the connection. */
function refuseInTurn(error: ClientError, socket: Socket, onRefused: (refused: Refused) => void): void {
  const current = currentAnswer(socket);
  const isLater = current?.req.complete === true;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (isLater && !socket.readableEnded)
    current.once('close', () => refuseInTurn(error, socket, onRefused));
  // Its caller is gone, or its own body is broken, and a second answer must not be written into the one under way.
  else if (isLater || current?.headersSent === true) socket.destroy();
  else onRefused(refuse(refusalOf(error.code), socket));
}

/** The answer that has the socket. */
function currentAnswer(socket: Socket): ServerResponse | null {
  // Node's own handler checks the same; there is no public API.
  return (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

function refuse(refusal: GatewayError, socket: Socket): Refused {
  const { code } = refusal;
  const problem = toProblem(refusal, randomId());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${problem.requestId}`,
    `date: ${new Date(wallMs()).toUTCString()}`,
    'cache-control: no-store',
    // A 405 needs allow; a tunnel has no methods.
    ...(problem.status === 405 ? ['allow: '] : []),
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Destroyed, not only ended: a broken client may keep its half open forever.
  socket.destroySoon();
  return { status: problem.status, code };
}

function refusalOf(cause: string | undefined): GatewayError {
  if (cause === IS_CONNECT)
    return new GatewayError('method_not_allowed', {
      detail: 'The gateway is a server, not a proxy: it opens no tunnels.',
    });
  if (cause === 'HPE_HEADER_OVERFLOW') return new GatewayError('headers_too_large');
  const isLate = cause === 'ERR_HTTP_REQUEST_TIMEOUT' || cause === 'HPE_TIMEOUT';
  const detail = isLate
    ? 'The request was not complete in time (server.requestTimeoutSeconds); send it faster, or in smaller parts.'
    : 'The request is not valid HTTP: a malformed or ambiguous head, length or chunk.';
  return new GatewayError('invalid_request', { status: isLate ? 408 : 400, detail });
}

declare module 'fastify' {
  interface FastifyRequest {
    trace: Trace;
    /** Of both planes, by a cookie or of the command line; null for requests with a key or token. */
    session: Session | null;
  }
}

export interface ServerOptions {
  readonly plane: 'data' | 'admin' | 'metrics';
  readonly logger: Logger;
  readonly gate: GateRules;
  /** Called before any routing. @returns whether it answers; if not, it has no effect */
  readonly answerFirst?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Origins whose pages may read answers; default: none. */
  readonly corsOrigins?: readonly string[];
  readonly problems: ProblemRules;
  readonly maxHeaderBytes: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  readonly trustedProxies: readonly string[];
  /** Records spans of requests; default: none. */
  readonly tracing?: Pick<RequestTracing, 'around'>;
  /** Called for each request that cannot be parsed, for metrics. */
  readonly onBroken: (status: number) => void;
  /** Called at the end of each request. @param complete false if the connection ended before the answer */
  readonly onDone: OnDone;
}

type OnDone = (request: Accounted, status: number, durationMs: number, complete: boolean) => void;

export function createServer(options: ServerOptions): FastifyInstance {
  const { logger, plane } = options;
  const app = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomId(),
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    bodyLimit: options.maxBodyBytes,
    forceCloseConnections: 'idle',
    // While closing, requests on open connections are still answered; readiness has sent new ones elsewhere.
    return503OnClosing: false,
    // The gate bounds the whole target; the router's own refusals by length are no problem+json.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
    ajv: { customOptions: { ...READING, keywords: [...READING.keywords], ...UNSEEN } },
    schemaController: { compilersFactory: { buildValidator } },
    serverFactory: (route) => gatedServer(route, options),
    clientErrorHandler(error: ClientError, socket: Socket) {
      onBrokenRequest(error, socket, (refused) => {
        logger.info({ plane, method: null, path: null, ...refused, cause: error.code }, 'request');
        options.onBroken(refused.status);
      });
    },
  });
  // Methods without any route would get a 404 at an existing address.
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method) && method !== 'CONNECT') app.addHttpMethod(method);
  traceRequests(app, options.onDone);
  registerCors(app, options.corsOrigins ?? []);
  registerProblems(app, options.problems);
  return app;
}

/** Answers what the path gate refuses; `route` handles the rest. */
function gatedServer(route: RequestListener, options: ServerOptions): Server {
  const { gate, corsOrigins = [], requestTimeoutMs: timeoutMs, answerFirst, onDone } = options;
  const faultOf = createGate(gate);
  const listener: RequestListener = (request, response) => {
    if (options.trustedProxies.length > 0) dropForwardedPorts(request);
    const fault = faultOf(request.url ?? '');
    if (fault !== null) refusePath(fault, request, response, { corsOrigins, gate, onDone });
    else if (answerFirst?.(request, response) !== true) route(request, response);
  };
  const server = createHttpServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Equal: if the timeout of headers is longer, Node does not end a slow body.
      requestTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      // Node's default adds up to 30 s to these timeouts.
      connectionsCheckingInterval: 1000,
      // Checked by ambiguityOf, where the answer is a problem document.
      requireHostHeader: false,
    },
    inOrder(tracedBy(options.tracing, listener)),
  );
  // Unlimited, because the bytes are limited: Node drops headers after 2000, and among them a second host or key.
  server.maxHeadersCount = 0;
  // Without a listener Node closes the connection without an answer.
  server.on('connect', (_request, socket) =>
    server.emit('clientError', Object.assign(new Error('CONNECT'), { code: IS_CONNECT }), socket),
  );
  // Node would answer with a bare 417; ambiguityOf refuses them with a problem.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

function tracedBy(tracing: ServerOptions['tracing'], listener: RequestListener): RequestListener {
  if (tracing === undefined) return listener;
  return (request, response) => tracing.around(request, () => listener(request, response));
}

/** Gives each request its trace, and calls `onDone` once, however it ends. */
function traceRequests(app: FastifyInstance, onDone: OnDone): void {
  app.decorateRequest('trace', null as unknown as Trace);
  const accounted = new WeakSet<FastifyRequest>();
  const once = (request: FastifyRequest, status: number, complete: boolean) => {
    if (accounted.has(request)) return;
    accounted.add(request);
    onDone(request, status, uptimeMs() - request.trace.startedMs, complete);
  };
  app.addHook('onRequest', async (request, reply) => {
    request.trace = new Trace();
    reply.raw.once('close', () => once(request, reply.raw.headersSent ? reply.statusCode : GONE, false));
    reply.header('x-request-id', request.id);
    const ambiguity = ambiguityOf(request.raw);
    if (ambiguity !== null) throw ambiguity;
  });
  app.addHook('onResponse', async (request, reply) => {
    once(request, reply.statusCode, true);
  });
}

// The requests of one connection, one at a time. A request that was sent ahead is handled when the answers before it have
// ended, and not at all if one of them closed the connection: it would be carried out, and its caller never told.

/** With so many waiting, the connection is not read: they would fill the memory. Then its end is not noticed either. */
const MAX_WAITING = 100;

/** Answers that wait for their turn. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>();

function inOrder(listener: RequestListener): RequestListener {
  return (request, response) => {
    // Node gives the socket to one answer at a time; after one that closes the connection it is not writable.
    if (response.socket === null) wait(request.socket, response, () => listener(request, response));
    else if (response.socket.writable) listener(request, response);
  };
}

function wait(socket: Socket, response: ServerResponse, go: () => void): void {
  const answers = waiting.get(socket) ?? watch(socket);
  answers.add(response);
  const pauseIfMany = () => {
    if (answers.size >= MAX_WAITING) socket.pause();
  };
  // Node resumes the socket at the end of each request.
  queueMicrotask(pauseIfMany);
  response.once('socket', () => {
    answers.delete(response);
    // Node is still passing the socket on, and may resume it.
    queueMicrotask(() => {
      pauseIfMany();
      if (answers.size === MAX_WAITING - 1) socket.resume();
      if (socket.writable) go();
    });
  });
}

/** When a connection ends, Node emits `close` on its current answer only; a count of answers waits for the others. */
function watch(socket: Socket): Set<ServerResponse> {
  const answers = new Set<ServerResponse>();
  waiting.set(socket, answers);
  socket.once('close', () => {
    for (const answer of answers) {
      answer.destroy();
      answer.emit('close');
    }
  });
  return answers;
}
