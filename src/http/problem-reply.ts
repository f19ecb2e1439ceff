/** Whatever was thrown, as a problem document; what must stay inside goes to the trace for the log. */
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  asGatewayError,
  CATALOGUE,
  type ErrorCode,
  type FieldFault,
  GatewayError,
  PROBLEM_TYPE,
  toProblem,
} from '../errors.js';
import type { Trace } from '../telemetry/trace.js';
import { nearPath, nearReport } from './near-path.js';
import { VARY } from './respond.js';

/** Fastify's own errors, by code. */
const FRAMEWORK: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_body',
  FST_ERR_BAD_URL: 'invalid_path',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
};

export interface ProblemRules {
  /** Status of a body that does not fit its schema, which each plane has its own for. */
  readonly invalidBodyStatus: number;
}

export function registerProblems(app: FastifyInstance, rules: ProblemRules): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    sendProblem(translate(error, rules), request, reply),
  );
  const known = knownPaths(app);
  const methodsOf = knownMethods(app);
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] as string;
    const methods = methodsOf(path);
    const isOther = methods.length > 0 && !methods.includes(request.method);
    const error = isOther ? wrongMethod(methods) : nothingAt(path, known());
    return sendProblem(error, request, reply);
  });
}

/** What an address takes; one that ends in a wildcard is many addresses, and says nothing. */
function knownMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    if (url.includes('*')) return;
    const pattern = url.replace(/[.?+^$()[\]{}|\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+');
    routes.push({ pattern: new RegExp(`^${pattern}$`), methods: [method].flat() });
  });
  return (path) => [
    ...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
  ];
}

function wrongMethod(methods: readonly string[]): GatewayError {
  const allow = methods.toSorted().join(', ');
  return new GatewayError('method_not_allowed', {
    detail: `This address takes ${allow}.`,
    headers: { allow },
  });
}

/** Addresses that somebody can have meant: of one spelling each, and not the files of a page. */
function knownPaths(app: FastifyInstance): () => readonly string[] {
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url, method }) => {
    if ([method].flat().includes('GET') && !/[*:]|\/static\/|.\/$/.test(url)) paths.add(url);
  });
  return () => [...paths];
}

/** Whoever asks may have no key: what is suggested depends on the address alone. */
function nothingAt(path: string, known: readonly string[]): GatewayError {
  // Only the data plane has reports.
  const isDataPlane = known.includes('/gateway/v1/me');
  const near = nearPath(path, known) ?? (isDataPlane ? nearReport(path) : undefined);
  if (near === undefined) return new GatewayError('not_found');
  return new GatewayError('not_found', {
    detail: `${CATALOGUE.not_found.meaning.slice(0, -1)}; did you mean ${near}?`,
    help: `Ask ${near}, or read /docs, which lists what there is.`,
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

function translate(error: FastifyError, rules: ProblemRules): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error.validation !== undefined) {
    return new GatewayError('invalid_body', {
      status: rules.invalidBodyStatus,
      errors: error.validation.map((fault): FieldFault => {
        const params = fault.params as Record<string, unknown>;
        const name = params.missingProperty ?? params.additionalProperty;
        const path = fault.instancePath.slice(1).replaceAll('/', '.');
        const param = [path, name].filter((part) => part !== undefined && part !== '').join('.');
        return { param, message: inPlainWords(fault.message ?? 'is not valid', params) };
      }),
    });
  }
  const code = FRAMEWORK[error.code];
  if (code === 'invalid_body')
    return new GatewayError(code, { status: rules.invalidBodyStatus, cause: error });
  if (code !== undefined) return new GatewayError(code, { cause: error });
  return error.statusCode !== undefined && error.statusCode < 500
    ? new GatewayError('invalid_request', { cause: error })
    : asGatewayError(error);
}

/** What a value that does not match the pattern of a schema must be. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^(?!gateway$)[a-z0-9-]{1,40}$': 'lower-case letters, digits and hyphens, at most 40, and not gateway',
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
