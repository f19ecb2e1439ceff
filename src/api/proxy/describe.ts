/** Declared pass-through routes in the OpenAPI document. The platform's answers are not described. */
import Type from 'typebox';
import type { RouteRule } from '../../config/schema.js';
import type { RequestHeader, ResponseHeader } from '../openapi/headers.js';
import {
  type Answer,
  BODY_PROBLEMS,
  idOf,
  type Operation,
  PLATFORM_PROBLEMS,
  type ProblemCode,
  REPORT_PROBLEMS,
} from '../openapi/operation.js';
import type { FurtherCall } from '../openapi/plane.js';
import { isWrite } from './checks.js';
import { DRY_RUN_ANSWER } from './dry-run.js';

export const PASSED_TAG = 'passed through';

export function describeDeclared(rule: RouteRule): FurtherCall {
  const { method, path, read, account } = rule;
  const shown = path.replace(/\*$/, '{segment}');
  const operation = describeOperation(method, shown, account);
  return {
    method,
    path: shown,
    tag: PASSED_TAG,
    summary: read ? 'Passed through to the platform; read-only' : 'Passed through to the platform',
    operation: isWrite(method, rule) ? asWrite(operation) : operation,
  };
}

function describeOperation(method: string, path: string, account: readonly string[]): Operation {
  const isGet = method === 'GET' || method === 'HEAD';
  const platforms: Answer = {
    ...PLATFORMS,
    headers: [...PLATFORMS_HEADERS, ...(method === 'POST' ? REPLAYED : [])],
  };
  return {
    id: idOf(method, path.replace(/^\/api\/v1/, '')),
    path: { segment: 'One segment.' },
    headers: isGet ? READ_HEADERS : method === 'POST' ? ['idempotency-key', ...WRITE_HEADERS] : WRITE_HEADERS,
    ...(isGet ? {} : { body: bodyOf(account) }),
    answers: {
      '2XX': platforms,
      ...(isGet
        ? { 304: { description: 'Not modified, by the platform.', headers: PLATFORMS_HEADERS } }
        : {}),
      '4XX': platforms,
    },
    problems: [...PROBLEMS, ...(isGet ? [] : BODY_PROBLEMS), ...(method === 'POST' ? IDEMPOTENCY : [])],
  };
}

/** A write has a dry run, and is checked by the team's write guard. */
function asWrite(operation: Operation): Operation {
  return {
    ...operation,
    query: DRY_RUN_QUERY,
    headers: [...(operation.headers ?? []), 'x-write-checksum'],
    answers: { ...operation.answers, 200: LOOKED_AT },
    problems: [...(operation.problems ?? []), ...GUARD],
  };
}

const DRY_RUN_QUERY = Type.Object({
  _dryRun: Type.Optional(
    Type.Literal('1', { description: 'Only check the request by the write guard; nothing is sent.' }),
  ),
});

/** A JSON body, with the fields declared to hold the account. */
function bodyOf(account: readonly string[]) {
  const members = account.flatMap((place) => (place.startsWith('body.') ? [place.slice(5)] : []));
  const known = members.map((name) => [
    name,
    Type.Optional(Type.Union([Type.Integer(), Type.String()], { description: 'The account.' })),
  ]);
  return { 'application/json': Type.Object(Object.fromEntries(known), { additionalProperties: true }) };
}

const READ_HEADERS: readonly RequestHeader[] = ['if-none-match', 'if-modified-since'];
const WRITE_HEADERS: readonly RequestHeader[] = ['if-match'];
const PLATFORMS_HEADERS: readonly ResponseHeader[] = [
  'cache-status',
  'cache-control',
  'etag',
  'last-modified',
  'content-disposition',
];
const REPLAYED: readonly ResponseHeader[] = ['idempotency-replayed'];

const PLATFORMS: Answer = {
  description: "The platform's own status, content type and bytes.",
  content: { '*/*': Type.Unknown() },
};

/** The platform's own 200, or the result of a dry run. */
const LOOKED_AT: Answer = {
  description: `With _dryRun=1: the checks of the write guard. Otherwise: ${PLATFORMS.description}`,
  content: { 'application/json': Type.Union([DRY_RUN_ANSWER, Type.Unknown()]), ...PLATFORMS.content },
  headers: [...PLATFORMS_HEADERS, ...REPLAYED],
};

const PROBLEMS: readonly ProblemCode[] = [...REPORT_PROBLEMS, 'route_forbidden', ...PLATFORM_PROBLEMS];
const GUARD: readonly ProblemCode[] = ['write_guard_refused', 'write_guard_unavailable', 'writes_stopped'];
const IDEMPOTENCY: readonly ProblemCode[] = ['idempotency_in_flight', 'idempotency_mismatch', 'not_ready'];
