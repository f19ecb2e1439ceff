/** Answers errors with problem documents. Internal details go to the trace, for the log. */
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { asGatewayError, type ErrorCode, GatewayError } from '../../errors.js';
import { PROBLEM_TYPE, toProblem } from '../../lib/http/problem.js';
import { outcomeOfProblem } from '../../outcome.js';
import { VARY } from '../../reports/cache/reply.js';
import { NO_SLOT, type Trace } from '../../telemetry/trace.js';
import { bodyFaults } from './json-body.js';
import { createNotFound } from './not-found.js';
import { bodyTooLarge } from './request-body.js';

const FRAMEWORK: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_body',
  FST_ERR_BAD_URL: 'invalid_path',
};

export interface ProblemRules {
  /** Status for a body that violates its schema; it depends on the plane. */
  readonly invalidBodyStatus: number;
}

export function registerProblems(app: FastifyInstance, rules: ProblemRules): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    sendProblem(translate(error, rules, request), request, reply),
  );
  const notFound = createNotFound(app);
  // Before the body is read, else its faults would be reported first. With a callback, for speed.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? notFound(request) : undefined);
  });
}

function sendProblem(error: GatewayError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  noteProblem(request.trace, error);
  // Left over from an answer that failed before its first byte.
  for (const name of OF_AN_ANSWER) reply.removeHeader(name);
  const { status, headers, body } = problemAnswer(error, request.id, request.raw);
  return reply.code(status).headers(headers).send(body);
}

/** For log and metrics. */
export function noteProblem(trace: Trace, error: GatewayError): void {
  trace.outcome = outcomeOfProblem(trace.isLookedUp, error.status, error.code);
  trace.code = error.code;
  trace.limit = error.options.limit ?? null;
  if (error.options.noSlot) trace.callFailure = NO_SLOT;
  trace.cause = error.options.cause ?? error.options.internal;
}

export function problemAnswer(error: GatewayError, requestId: string, raw: IncomingMessage) {
  const { retryAfterS, headers } = error.options;
  return {
    status: error.status,
    headers: {
      'content-type': PROBLEM_TYPE,
      'cache-control': 'no-store',
      vary: VARY,
      // The rest of a large body is not read: tell the caller to stop.
      ...(isUploading(raw) ? { connection: 'close' } : {}),
      ...headers,
      ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
    },
    body: Buffer.from(JSON.stringify(toProblem(error, requestId))),
  };
}

/** Bodies up to here are cheaper to skip than a connection is to open. */
const SKIPPED_BYTES = 65_536;

function isUploading({ complete, headers }: IncomingMessage): boolean {
  if (complete !== false) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SKIPPED_BYTES;
}

/** Headers that describe the replaced body. */
const OF_AN_ANSWER = [
  'accept-ranges',
  'cache-status',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'etag',
  'last-modified',
];

function translate(error: FastifyError, rules: ProblemRules, request: FastifyRequest): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error.validation !== undefined) {
    // Routes have a schema for the body alone.
    const errors = bodyFaults(request.routeOptions.schema?.body as TSchema, request.body);
    return new GatewayError('invalid_body', { status: rules.invalidBodyStatus, errors });
  }
  const code = FRAMEWORK[error.code];
  if (code === 'invalid_body')
    return new GatewayError(code, { status: rules.invalidBodyStatus, cause: error });
  if (code === 'body_too_large') return bodyTooLarge(request.routeOptions.bodyLimit);
  if (code !== undefined) return new GatewayError(code, { cause: error });
  return error.statusCode !== undefined && error.statusCode < 500
    ? new GatewayError('invalid_request', { cause: error })
    : asGatewayError(error);
}
