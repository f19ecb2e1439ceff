/** A Fastify instance the way both planes want it: gated, traced, logged once, and answering problems. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { type ErrorCode, GatewayError, PROBLEM_TYPE, toProblem } from '../errors.js';
import { createTrace, type Trace } from '../telemetry/trace.js';
import { type GateRules, gateFault } from './path-gate.js';
import { type ProblemRules, registerProblems, sendProblem } from './problem-reply.js';

declare module 'fastify' {
  interface FastifyRequest {
    trace: Trace;
  }
}

/** Where the gate sends what it refuses; a caller who asks for it is refused the same way. */
const REFUSED_PREFIX = '/~refused';

export interface ServerOptions {
  readonly plane: 'data' | 'admin' | 'metrics';
  readonly logger: Logger;
  readonly gate: GateRules;
  readonly problems: ProblemRules;
  readonly maxHeaderBytes: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  readonly trustedProxies: readonly string[];
  /** Told about every request that could not even be parsed, for metrics. */
  readonly onBroken: (status: number) => void;
  /** Told about every finished request, for metrics. */
  readonly onDone: (request: FastifyRequest, status: number, durationMs: number) => void;
}

export function createServer(options: ServerOptions): FastifyInstance {
  const { logger, plane } = options;
  const app = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: options.requestTimeoutMs,
    // A keep-alive connection outlives a load balancer's idle time (60 s is common), or it resets under a request.
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // While closing, requests on open connections are still answered; readiness has sent new ones elsewhere.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512 },
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        allErrors: true,
        keywords: ['env', 'secret'],
      },
    },
    http: {
      maxHeaderSize: options.maxHeaderBytes,
      // Equal, for Node never ends a slow body while the time for headers is the longer one.
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: options.requestTimeoutMs,
      // Node looks for requests that take too long every 30 s; a caller would have that on top.
      connectionsCheckingInterval: 1000,
      // Checked below, where the answer is a problem document.
      requireHostHeader: false,
    },
    rewriteUrl: (request) => passGate(request.url ?? '', options.gate),
    clientErrorHandler(error: Error & { code?: string }, socket: Socket) {
      const refused = refuseBrokenRequest(error, socket);
      if (refused === null) return;
      logger.info({ plane, method: null, path: null, ...refused, cause: error.code }, 'request');
      options.onBroken(refused.status);
    },
  });
  // Node's own answer to them is a bare 417; refused below like all the rest.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.decorateRequest('trace', null as unknown as Trace);
  const accounted = new WeakSet<FastifyRequest>();
  const account = (request: FastifyRequest, status: number, durationMs: number, complete: boolean) => {
    if (accounted.has(request)) return;
    accounted.add(request);
    logRequest(request, status, durationMs, plane, complete);
    options.onDone(request, status, durationMs);
  };
  app.addHook('onRequest', async (request, reply) => {
    request.trace = createTrace();
    reply.raw.once('close', () => {
      account(request, reply.raw.headersSent ? reply.statusCode : GONE, reply.elapsedTime, false);
    });
    reply.header('x-request-id', request.id);
    refuseAmbiguous(request.raw);
  });
  app.addHook('onResponse', async (request, reply) => {
    account(request, reply.statusCode, reply.elapsedTime, true);
  });
  registerProblems(app, options.problems);
  app.all(`${REFUSED_PREFIX}/:code`, (request, reply) => {
    const { code } = request.params as { code: string };
    return sendProblem(new GatewayError(code === 'uri_too_long' ? code : 'invalid_path'), request, reply);
  });
  return app;
}

function passGate(target: string, rules: GateRules): string {
  const fault = gateFault(target, rules);
  return fault === null ? target : `${REFUSED_PREFIX}/${fault}`;
}

/** No host, two of them, or a body where none belongs: what the next reader would make of it cannot be known. */
function refuseAmbiguous(raw: IncomingMessage): void {
  let hosts = 0;
  for (let index = 0; index < raw.rawHeaders.length; index += 2) {
    if (raw.rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw ambiguous('The request names two hosts.');
  const isOld = raw.httpVersion === '1.0';
  if (hosts === 0 && !isOld) throw ambiguous('The request names no host.');
  if (isOld && raw.headers['transfer-encoding'] !== undefined)
    throw ambiguous('HTTP/1.0 has no transfer-encoding (RFC 9112, section 6.1); send content-length.');
  const { expect } = raw.headers;
  if (!isOld && expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw ambiguous('The expectation cannot be met; 100-continue can.', 417);
  if (raw.method !== 'GET' && raw.method !== 'HEAD') return;
  const length = raw.headers['content-length'];
  if (raw.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')) {
    throw ambiguous(`A ${raw.method} takes no body.`);
  }
}

/** What follows on the connection may be anything. */
function ambiguous(detail: string, status = 400): GatewayError {
  return new GatewayError('invalid_request', { status, detail, headers: { connection: 'close' } });
}

/**
 * Requests that Node's parser refuses never reach a route; they are answered on the socket.
 * @returns the status, or null when there was nobody to answer
 */
function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): Refused | null {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return null;
  }
  const refusal = refusalOf(error.code);
  const { code } = refusal;
  const problem = toProblem(refusal, randomUUID());
  const body = JSON.stringify(problem);
  socket.write(
    `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${problem.requestId}\r\nconnection: close\r\n\r\n${body}`,
  );
  // Not only ended: whoever sends nonsense may keep its own half open for ever.
  socket.destroySoon();
  return { status: problem.status, code };
}

function refusalOf(cause: string | undefined): GatewayError {
  if (cause === 'HPE_HEADER_OVERFLOW') return new GatewayError('headers_too_large');
  const isLate = cause === 'ERR_HTTP_REQUEST_TIMEOUT' || cause === 'HPE_TIMEOUT';
  const detail = isLate
    ? 'The request was not whole in time (server.requestTimeoutSeconds); send it faster, or in smaller parts.'
    : 'The request is no HTTP that can be read in one way only: a malformed head, length or chunk.';
  return new GatewayError('invalid_request', { status: isLate ? 408 : 400, detail });
}

interface Refused {
  readonly status: number;
  readonly code: ErrorCode;
}

/** Whether the answer to an earlier request is under way on this connection: a second one must not stand inside of it. */
function isAnswering(socket: Socket): boolean {
  // Where Node's own handler looks, too; there is no public way to know.
  const { _httpMessage: message } = socket as Socket & { readonly _httpMessage?: ServerResponse | null };
  return message?.headersSent ?? false;
}

/** As nginx has it: the caller was gone before there was an answer. */
const GONE = 499;

/**
 * One line per request, whatever came of it.
 * @param complete false when the connection ended before the answer did
 */
function logRequest(
  request: FastifyRequest,
  status: number,
  durationMs: number,
  plane: string,
  complete: boolean,
): void {
  const { trace } = request;
  const line = {
    plane,
    method: request.method,
    path: trace.subject ?? pathOf(request.originalUrl),
    status,
    ms: Math.round(durationMs * 10) / 10,
    team: trace.team,
    key: trace.key,
    outcome: trace.outcome,
    platformCalls: trace.platformCalls,
    platformMs: Math.round(trace.platformMs),
    rows: trace.rows,
    ...(complete ? {} : { complete }),
    ...(trace.code === null ? {} : { code: trace.code }),
    ...(trace.cause === undefined ? {} : { cause: describe(trace.cause) }),
  };
  if (status >= 500) request.log.warn(line, 'request');
  else request.log.info(line, 'request');
}

/** As it was sent, without its query, and no longer than a line wants. */
function pathOf(target: string): string {
  return (target.split('?', 1)[0] as string).slice(0, LOGGED_PATH_CHARS);
}

const LOGGED_PATH_CHARS = 256;

function describe(cause: unknown): unknown {
  return cause instanceof Error ? { type: cause.name, message: cause.message, stack: cause.stack } : cause;
}
