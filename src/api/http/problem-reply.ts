/** Whatever was thrown, as a problem document; what must stay inside goes to the trace for the log. */
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  asGatewayError,
  type ErrorCode,
  type FieldFault,
  GatewayError,
  PROBLEM_TYPE,
  toProblem,
} from '../../errors.js';
import { VARY } from '../../reports/cache/reply.js';
import type { Trace } from '../../telemetry/trace.js';
import { createNotFound } from './not-found.js';
import { bodyTooLarge } from './request-body.js';

/** Fastify's own errors, by code. */
const FRAMEWORK: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_body',
  FST_ERR_BAD_URL: 'invalid_path',
};

export interface ProblemRules {
  /** Status of a body that does not fit its schema, which each plane has its own for. */
  readonly invalidBodyStatus: number;
}

export function registerProblems(app: FastifyInstance, rules: ProblemRules): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    sendProblem(translate(error, rules, request.routeOptions.bodyLimit), request, reply),
  );
  const notFound = createNotFound(app);
  // Before its body is read, which would be told to be wrong first. By callback: every request passes here.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? notFound(request) : undefined);
  });
}

function sendProblem(error: GatewayError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  noteProblem(request.trace, error);
  // An answer that broke off before its first byte may have left them.
  for (const name of OF_AN_ANSWER) reply.removeHeader(name);
  const { status, headers, body } = problemAnswer(error, request.id, request.raw);
  return reply.code(status).headers(headers).send(body);
}

/** For the log and the metrics, which are told more than the caller. */
export function noteProblem(trace: Trace, error: GatewayError): void {
  trace.outcome = 'error';
  trace.code = error.code;
  trace.cause = error.options.cause ?? error.options.internal;
}

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> & { readonly vary: string };
  readonly body: Buffer;
}

/** A problem as HTTP. @param raw the request that it answers */
export function problemAnswer(error: GatewayError, requestId: string, raw: IncomingMessage): ProblemAnswer {
  const { retryAfterS, headers } = error.options;
  return {
    status: error.status,
    headers: {
      'content-type': PROBLEM_TYPE,
      'cache-control': 'no-store',
      vary: VARY,
      // Nobody reads what is still to come of a large body: the caller is told to stop.
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

/** What says something of a body, and nothing of the problem that is told in its place. */
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

/** @param bodyLimit bytes that the call takes */
function translate(error: FastifyError, rules: ProblemRules, bodyLimit: number): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error.validation !== undefined) {
    return new GatewayError('invalid_body', {
      status: rules.invalidBodyStatus,
      errors: telling(error.validation).map((fault): FieldFault => {
        const params = fault.params as Record<string, unknown>;
        const name = params.missingProperty ?? params.additionalProperty;
        const path = fault.instancePath.split('/').slice(1).map(unescaped).join('.');
        const param = [path, name].filter((part) => part !== undefined && part !== '').join('.');
        return { param, message: inPlainWords(fault.message ?? 'is not valid', params) };
      }),
    });
  }
  const code = FRAMEWORK[error.code];
  if (code === 'invalid_body')
    return new GatewayError(code, { status: rules.invalidBodyStatus, cause: error });
  if (code === 'body_too_large') return bodyTooLarge(bodyLimit);
  if (code !== undefined) return new GatewayError(code, { cause: error });
  return error.statusCode !== undefined && error.statusCode < 500
    ? new GatewayError('invalid_request', { cause: error })
    : asGatewayError(error);
}

type SchemaFault = NonNullable<FastifyError['validation']>[number];

/** Of a value that may have several forms: where something within is wrong, that it has not the other forms says nothing. */
function telling(faults: readonly SchemaFault[]): SchemaFault[] {
  const unions = faults.filter(({ keyword }) => keyword === 'anyOf').map((fault) => fault.instancePath);
  const beside = unions.filter((path) => faults.some((fault) => fault.instancePath.startsWith(`${path}/`)));
  return faults.filter(({ instancePath }) => !beside.includes(instancePath));
}

/** Of a JSON Pointer, RFC 6901: a route in a write guard has slashes of its own. */
function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The patterns of schemas, in words: what a value must be. */
export const PATTERNS: Readonly<Record<string, string>> = {
  '^(?!gateway$)[a-z0-9-]{1,40}$': 'lower-case letters, digits and hyphens, at most 40, and not gateway',
  '^body(\\.[A-Za-z][A-Za-z0-9_-]{0,63}){1,8}$': 'a place in the body, e.g. body.budget.total',
  '^[A-Za-z][A-Za-z0-9_-]{0,63}$': 'the name of a member: a letter, then letters, digits, _ or -',
  '^[A-Za-z]{3,8}$': 'the code of a currency, e.g. EUR',
  '^[a-z0-9-]{1,40}$': 'the id of a team',
  '^[a-z]+(\\.[a-zA-Z_-]+)?$': 'an action such as token.activate, or its kind: token',
  '^[\\x21-\\x7e]{1,16384}$': 'printable ASCII characters without spaces, at most 16384',
};

/** What a schema's validator says, as people say it. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^must be >= (\S+)$/, 'must be $1 or more'],
  [/^must be <= (\S+)$/, 'must be $1 or less'],
  [/^must NOT have more than /, 'must have at most '],
  [/^must NOT have fewer than /, 'must have at least '],
  [/^must NOT have duplicate items.*$/, 'must name each one once'],
  [/^must NOT have additional properties$/, 'is no member that this call takes'],
];

function inPlainWords(message: string, { allowedValues, pattern }: Record<string, unknown>): string {
  if (Array.isArray(allowedValues)) return `allowed is ${allowedValues.join(', ')}`;
  const form = PATTERNS[String(pattern)];
  if (form !== undefined) return `must be ${form}`;
  return PLAIN.reduce((said, [form, words]) => said.replace(form, words), message);
}
