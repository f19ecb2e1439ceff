/** The report route: from a Fastify request to a `ReportCall`, and its answer back. */
import { pipeline, Readable, type Transform } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { ANSWER, describeBody, describeQuery, OWN_QUERY } from '../../reports/query/describe.js';
import type { ParameterTable } from '../../reports/query/parameters.js';
import { AT_ONCE_BYTES, type ReportCall, type ReportHandler } from '../../reports/report-call.js';
import { readKeyHeaders } from '../http/caller.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { splitTarget } from '../http/path-gate.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { inTurns, onResponseClosed } from '../http/send.js';
import { REPORT_HEADERS } from '../openapi/headers.js';
import {
  type Answer,
  BODY_PROBLEMS,
  idOf,
  json,
  type Operation,
  PLATFORM_PROBLEMS,
  type ProblemCode,
  REPORT_PROBLEMS,
  shownToTeams,
} from '../openapi/operation.js';
import { text } from '../openapi/schemas.js';

export const REPORT_PREFIX = '/api/v1/report/';

export interface ReportRoutes {
  readonly report: ReportHandler;
  /** Declared endpoints; each has its own operation in the OpenAPI document. */
  readonly endpoints: Readonly<Record<string, DeclaredReport>>;
  readonly table: ParameterTable;
  readonly maxBodyBytes: number;
  /** Last stage of a large answer: aborts if the caller does not read. */
  readonly outlet: () => Transform;
}

interface DeclaredReport {
  readonly readByPost: boolean;
  readonly currency?: string | undefined;
}

export function registerReports(app: FastifyInstance, routes: ReportRoutes): void {
  const { report, table, maxBodyBytes } = routes;
  const endpoints = Object.entries(routes.endpoints);
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const call = readCall(request, reply, maxBodyBytes);
    request.trace.subject = `${REPORT_PREFIX}${call.endpoint}`;
    const { status, headers, body: content } = await report(call);
    reply.code(status).headers(headers);
    // Not null, which is a JSON text of four bytes.
    if (content === null) return reply.send(undefined);
    const length = content.reduce((sum, piece) => sum + piece.length, 0);
    if (request.method === 'HEAD') return reply.header('content-length', length).send(undefined);
    if (length <= AT_ONCE_BYTES) return reply.send(Buffer.concat(content));
    const outlet = routes.outlet();
    pipeline(Readable.from(inTurns(content)), outlet, () => {});
    return reply.header('content-length', length).send(outlet);
  };
  for (const [endpoint, { currency }] of endpoints) {
    const described = { ...describeGet(endpoint, table), currency };
    app.head(`${REPORT_PREFIX}${endpoint}`, OWN_HEAD, handler);
    app.get(`${REPORT_PREFIX}${endpoint}`, shown(endpoint, described), handler);
  }
  app.head(`${REPORT_PREFIX}*`, OWN_HEAD, handler);
  app.get(`${REPORT_PREFIX}*`, OWN_HEAD, handler);
  // Bodies are read only after authentication.
  withUnreadBodies(app, (scope) => {
    for (const [endpoint, { readByPost }] of endpoints) {
      if (!readByPost) continue;
      scope.post(
        `${REPORT_PREFIX}${endpoint}`,
        shown(endpoint, describePost(endpoint, table), ' by a JSON body'),
        handler,
      );
    }
  });
}

/** Replaces Fastify's own HEAD, which sends `content-length: 0` without a body, even for a 304. */
export const OWN_HEAD = { schema: { hide: true } };

/** As for a query, but with longer lists. */
const BODY_LIMITS: BodyLimits = { maxMembers: 256, maxItems: 10_000 };

/** Without schemas for Fastify: the gateway's own parser checks query and body. */
const shown = (endpoint: string, operation: Operation, by = '') =>
  shownToTeams('reports', `${nameOf(endpoint)} report${by}: figures of an advertiser in a period`, operation);

/** `campaigns/get` → `Campaigns` */
function nameOf(endpoint: string): string {
  const words =
    endpoint
      .replace(/(?<=.)\/get$/, '')
      .replaceAll(/[/._~-]+/g, ' ')
      .trim() || endpoint;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function describeGet(endpoint: string, table: ParameterTable): Operation {
  return {
    id: idOf('get', `report/${endpoint}`),
    query: describeQuery(table),
    headers: ['cache-control', 'if-none-match', 'accept-encoding'],
    answers: ANSWERS,
    problems: PROBLEMS,
  };
}

function describePost(endpoint: string, table: ParameterTable): Operation {
  return {
    ...describeGet(endpoint, table),
    id: idOf('post', `report/${endpoint}`),
    query: OWN_QUERY,
    body: { 'application/json': describeBody(table) },
    problems: [...PROBLEMS, ...BODY_PROBLEMS],
  };
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  200: {
    ...json(ANSWER, "The report. With `_format=raw`: the platform's own status, content type and bytes.", [
      ...REPORT_HEADERS,
      'content-encoding',
      'content-disposition',
    ]),
    content: {
      'application/json': ANSWER,
      'text/csv': text('RFC 4180, with a header line; empty for an empty report.'),
      'application/x-ndjson': text('One row per line.'),
      'application/vnd.dsp.raw': Type.String({
        format: 'binary',
        description: "The platform's own bytes, sent with the platform's content type instead of this one.",
      }),
    },
  },
  304: { description: 'Not modified: if-none-match has its etag.', headers: REPORT_HEADERS },
};

const PROBLEMS: readonly ProblemCode[] = [
  ...REPORT_PROBLEMS,
  ...PLATFORM_PROBLEMS,
  'not_acceptable',
  'not_known_then',
  'not_final',
  'upstream_rejected',
  'not_cached',
];

function readCall(request: FastifyRequest, reply: FastifyReply, maxBodyBytes: number): ReportCall {
  const target = request.raw.url ?? '';
  const [path, query] = splitTarget(target);
  const { headers } = request;
  return {
    id: request.id,
    method: request.method as ReportCall['method'],
    target,
    endpoint: path.slice(REPORT_PREFIX.length),
    query,
    readBody:
      request.method !== 'POST'
        ? null
        : async () => parseJsonBody(await readJsonBytes(request, maxBodyBytes), BODY_LIMITS),
    keys: readKeyHeaders(request.raw),
    address: request.ip,
    accept: headers.accept,
    acceptEncoding: headers['accept-encoding'] as string | undefined,
    cacheControl: headers['cache-control'],
    ifNoneMatch: headers['if-none-match'],
    trace: request.trace,
    onResponseClosed: onResponseClosed(reply.raw),
  };
}
