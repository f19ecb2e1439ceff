/** Problems in the OpenAPI document: their schema, and an answer for each status that an operation can give one with. */
import Type, { type TSchema } from 'typebox';
import { CATALOGUE, type ErrorCode, statusOf } from '../../errors.js';
import type { ResponseHeader } from './headers.js';
import type { Answer, ProblemCode } from './operation.js';

const PROBLEM_TYPE = 'application/problem+json';

const Fault = Type.Object({
  param: Type.String({ description: 'The parameter, or the place in the body.' }),
  message: Type.String({ description: 'What is wrong with it, and what is allowed.' }),
});

const PROBLEM = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: "The code's page." }),
    title: Type.String({ description: 'Belongs to the code.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What is wrong with this request, for people.' }),
    help: Type.String({ description: 'What to do next, in one sentence.' }),
    code: Type.Enum(Object.keys(CATALOGUE) as ErrorCode[], { description: 'For programs.' }),
    requestId: Type.String({ description: 'To be told to the operator; it is in the log.' }),
    errors: Type.Optional(Type.Array(Fault, { description: 'Each fault of a query or body; at most 20.' })),
    errorCount: Type.Optional(
      Type.Integer({ description: 'How many faults there are, where they are not all listed.' }),
    ),
    upstream: Type.Optional(
      Type.Unknown({ description: "With upstream_rejected: the platform's own words, at most 1 KiB." }),
    ),
  },
  {
    title: 'Problem',
    description: 'RFC 9457.',
    examples: [
      {
        ...{ type: '/docs/errors/invalid_query', title: 'Invalid query', status: 400, code: 'invalid_query' },
        detail: 'dateFrom: must be a date as YYYY-MM-DD.',
        help: 'Correct the parameters that errors names.',
        requestId: '01K9Z0V7Q4M2',
        errors: [{ param: 'dateFrom', message: 'must be a date as YYYY-MM-DD' }],
      },
    ],
  },
);

/** What any request may be answered with that is not what it asks for. */
const EVERY: readonly ErrorCode[] = [
  'invalid_path',
  'invalid_request',
  'uri_too_long',
  'headers_too_large',
  'internal_error',
];

/** The platform's own 4xx come as they are, but for those that tell of the gateway's own affairs with it. */
const NEVER_THE_PLATFORMS = [401, 408, 429];

/** Whether an answer with this status may be the platform's own. */
export function mayBeThePlatforms(status: number): boolean {
  return status < 500 && !NEVER_THE_PLATFORMS.includes(status);
}

/**
 * @param admin whether it is an operation of the admin plane, where some codes have another status
 * @returns an answer for each status that these codes and those of every operation have
 */
export function problemAnswers(codes: readonly ProblemCode[], admin: boolean): Record<string, Answer> {
  const byStatus = new Map<number, Set<ErrorCode>>();
  const given = [...EVERY, ...codes].map((one) =>
    typeof one === 'string' ? { code: one, status: statusOf(one, admin) } : one,
  );
  for (const { code, status } of given) {
    if (code === 'upstream_rejected') continue;
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const rejects = codes.includes('upstream_rejected');
  const answers = [...byStatus].map(([status, ofStatus]): [string, Answer] => {
    if (rejects && mayBeThePlatforms(status)) ofStatus.add('upstream_rejected');
    return [String(status), problem([...ofStatus].sort(), status)];
  });
  return {
    ...Object.fromEntries(answers),
    ...(rejects ? { '4XX': problem(['upstream_rejected'], null) } : {}),
  };
}

/** What a client must be ready for besides: a slow or broken request, and codes of a later release. */
export const ANY_PROBLEM: Answer = {
  name: 'Problem',
  description: 'Any other problem (RFC 9457); `type` is the address of its page.',
  content: { [PROBLEM_TYPE]: PROBLEM },
  headers: ['cache-control', 'vary'],
};

/** @param status null: any of its class */
function problem(codes: readonly ErrorCode[], status: number | null): Answer {
  const narrowed: Record<string, TSchema> = {
    ...(status === null ? {} : { status: Type.Literal(status) }),
    code: Type.Enum([...codes]),
  };
  return {
    name: [status ?? '4XX', ...codes].join('.'),
    description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].meaning}`).join('\n\n'),
    content: { [PROBLEM_TYPE]: Type.Intersect([PROBLEM, Type.Object(narrowed)]) },
    headers: headersOf(status),
  };
}

function headersOf(status: number | null): ResponseHeader[] {
  const all: ResponseHeader[] = ['cache-control', 'vary'];
  if (status === 401) return [...all, 'www-authenticate'];
  return status === 429 || status === 503 || status === 409 ? [...all, 'retry-after'] : all;
}
