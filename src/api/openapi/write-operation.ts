/** Writes one operation of the OpenAPI document, from the description by its route and the generated part. */
import Type, { type TObject, type TSchema } from 'typebox';
import { CATALOGUE, remedyOf } from '../../errors/catalogue.js';
import { type ErrorCode, statusOf } from '../../errors.js';
import { REQUEST_HEADERS, type ResponseHeader } from './headers.js';
import { NAME } from './hoist.js';
import type { Answer, Operation, ProblemCode } from './operation.js';
import type { Plane } from './plane.js';
import { text } from './schemas.js';

// Problems: their schema, and an answer for each status.

const PROBLEM_TYPE = 'application/problem+json';

const Fault = Type.Object({
  param: text('The parameter, or the path in the body.'),
  message: text('The fault, and the allowed values.'),
});

const REQUEST_ID = 'db355aeb-a3ab-41ab-a508-363b8e465f60';

const INVALID_QUERY = {
  type: '/docs/errors/invalid_query',
  title: 'Invalid query',
  status: 400,
  code: 'invalid_query',
  detail: 'dateFrom must be a date as YYYY-MM-DD.',
  help: 'Send dateFrom as a calendar day as YYYY-MM-DD.',
  requestId: REQUEST_ID,
  errors: [{ param: 'dateFrom', message: 'must be a date as YYYY-MM-DD' }],
};

const PROBLEM = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'Documentation page of the code.' }),
    title: text('Title of the code.'),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: text('The error in this request, for people.'),
    help: text('What to do next.'),
    code: Type.Enum(Object.keys(CATALOGUE) as ErrorCode[], { description: 'For programs.' }),
    requestId: text('Report it to the operator; it is in the log.'),
    errors: Type.Optional(Type.Array(Fault, { description: 'Faults of a query or body, at most 20.' })),
    errorCount: Type.Optional(
      Type.Integer({ description: 'Number of faults, if errors does not list all of them.' }),
    ),
    known: Type.Optional(
      Type.Array(
        Type.Object({ from: Type.String({ format: 'date' }), to: Type.String({ format: 'date' }) }),
        {
          description:
            'Of a report by date while the platform fails, or the team has used up its platform calls of the day: the periods whose days are answered from the cache, newest first, at most 5.',
        },
      ),
    ),
    upstream: Type.Optional(
      Type.Unknown({ description: "With upstream_rejected: the platform's message, at most 1 KiB." }),
    ),
  },
  {
    title: 'Problem',
    description: 'RFC 9457.',
    examples: [INVALID_QUERY],
  },
);

/** Problems of any request. */
const EVERY: readonly ErrorCode[] = [
  'invalid_path',
  'invalid_request',
  'uri_too_long',
  'headers_too_large',
  'internal_error',
];

/** 4xx of the platform that are not passed on: they concern the gateway's own account. */
const NEVER_THE_PLATFORMS = [401, 408, 429];

/** Whether an answer with this status may be the platform's own. */
function mayBeThePlatforms(status: number): boolean {
  return status < 500 && !NEVER_THE_PLATFORMS.includes(status);
}

/**
 * @param admin some codes have another status on the admin plane
 * @returns one answer per status of these codes and of {@link EVERY}
 */
function problemAnswers(codes: readonly ProblemCode[], admin: boolean): Record<string, Answer> {
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

/** For other problems: slow or broken requests, and codes of later releases. */
const ANY_PROBLEM: Answer = {
  name: 'Problem',
  description: 'Any other problem (RFC 9457); `type` is the address of its page.',
  content: { [PROBLEM_TYPE]: PROBLEM },
  headers: ['cache-control', 'vary'],
};

/** Of the codes of one status: what their callers meet most. */
const USUAL: readonly ErrorCode[] = [
  'invalid_body',
  'invalid_api_key',
  'invalid_admin_token',
  'advertiser_forbidden',
  'forbidden',
  'rate_limited',
  'upstream_error',
  'upstream_circuit_open',
];

/** Of the code that callers meet most, else of the first one. @param status null: any of its class */
function exampleOf(codes: readonly ErrorCode[], status: number | null): object {
  if (codes.includes('invalid_query')) return INVALID_QUERY;
  const isOf = (one: ErrorCode) => codes.includes(one);
  const own = codes.find((one) => one !== 'upstream_rejected');
  const code = USUAL.find(isOf) ?? own ?? 'upstream_rejected';
  const { title, meaning: detail } = CATALOGUE[code];
  const help = remedyOf(CATALOGUE[code]);
  const type = `/docs/errors/${code}`;
  return { type, title, status: status ?? 404, code, detail, help, requestId: REQUEST_ID };
}

/** @param status null: any of its class */
function problem(codes: readonly ErrorCode[], status: number | null): Answer {
  const narrowed: Record<string, TSchema> = {
    ...(status === null ? {} : { status: Type.Literal(status) }),
    code: Type.Enum([...codes]),
  };
  return {
    name: [status ?? '4XX', ...codes].join('.'),
    description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].meaning}`).join('\n\n'),
    content: {
      [PROBLEM_TYPE]: Type.Intersect([PROBLEM, Type.Object(narrowed)], {
        examples: [exampleOf(codes, status)],
      }),
    },
    headers: headersOf(status),
  };
}

/** Statuses that may tell when to repeat. */
const REPEATABLE: readonly number[] = [409, 429, 502, 503, 504];

function headersOf(status: number | null): ResponseHeader[] {
  const all: ResponseHeader[] = ['cache-control', 'vary'];
  if (status === 401) return [...all, 'www-authenticate'];
  return status !== null && REPEATABLE.includes(status) ? [...all, 'retry-after'] : all;
}

export interface Generated {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: TSchema }>>;
  };
}

export interface Written {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly object[];
  readonly responses: Readonly<Record<string, WrittenAnswer>>;
}

interface WrittenAnswer {
  readonly [NAME]?: string;
  readonly description: string;
  readonly headers: object;
  readonly content?: object;
}

interface Call {
  readonly path: string;
  readonly method: string;
  readonly shown: Generated;
  readonly operation: Operation;
}

export function writeOperation({ path, method, shown, operation }: Call, plane: Plane): Written {
  const { requestBody, tags = [], summary, security } = shown;
  const { id, query, body, headers = [], answers, problems = [], currency } = operation;
  const isOpen = security?.length === 0;
  const codes = [...problems, ...(isOpen ? [] : plane.callers(method, operation))];
  const always: readonly ResponseHeader[] = isOpen ? [] : plane.callerHeaders;
  const all: Record<string, Answer> = {
    ...answers,
    ...besides(answers, problemAnswers(codes, plane.admin)),
    default: besideRange(ANY_PROBLEM, answers['4XX']),
  };
  return {
    operationId: id,
    tags,
    ...(summary === undefined ? {} : { summary }),
    ...(security === undefined ? {} : { security }),
    ...(currency === undefined ? {} : { 'x-currency': currency }),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => inPath(name, operation)),
      ...(query === undefined ? [] : inQuery(query)),
      ...headers.map((name) => ({ name, in: 'header', ...described(REQUEST_HEADERS[name]) })),
    ],
    ...takenBody(body === undefined ? requestBody?.content : contentOf(body)),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, answer]) => [
        status,
        // An unknown caller has no rate limit.
        writeAnswer(answer, status === '401' ? [] : always),
      ]),
    ),
  };
}

/** Combines a problem with an answer of the same status or range. */
function besides(
  answers: Readonly<Record<string, Answer>>,
  problems: Readonly<Record<string, Answer>>,
): Record<string, Answer> {
  return Object.fromEntries(
    Object.entries(problems).map(([status, problem]) => {
      const range = mayBeThePlatforms(Number(status)) ? answers[`${status.charAt(0)}XX`] : undefined;
      return [status, besideRange(problem, answers[status] ?? range)];
    }),
  );
}

function besideRange(problem: Answer, range: Answer | undefined): Answer {
  if (range === undefined) return problem;
  return {
    description: `${problem.description}\n\nOr: ${range.description}`,
    content: { ...range.content, ...problem.content },
    headers: [...new Set([...(problem.headers ?? []), ...(range.headers ?? [])])],
  };
}

function inPath(name: string, { path = {} }: Operation): object {
  const description = path[name];
  return {
    name,
    in: 'path',
    required: true,
    ...(description === undefined ? {} : { description }),
    schema: { type: 'string' },
  };
}

function inQuery({ properties, required }: TObject): object[] {
  const needed = new Set<string>(required);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: needed.has(name),
    ...described(schema),
  }));
}

/** Moves description and `example` of a schema beside it, where pages show the one and fill in the other. */
export function described(schema: TSchema): { readonly schema: object } {
  const { description, example, ...rest } = schema as TSchema & { description?: string; example?: unknown };
  return {
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    schema: rest,
  };
}

function contentOf(schemas: Readonly<Record<string, TSchema>>): Record<string, { schema: TSchema }> {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));
}

interface BodySchema {
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

/** Nothing for a body without members. A body without required members is optional. */
function takenBody(content: Readonly<Record<string, { readonly schema: TSchema }>> | undefined): object {
  if (content === undefined) return {};
  const schemas = Object.values(content).map(({ schema }) => schema as BodySchema);
  const takesNothing = ({ properties = {}, additionalProperties }: BodySchema) =>
    additionalProperties === false && Object.keys(properties).length === 0;
  if (schemas.every(takesNothing)) return {};
  const required = schemas.some((schema) => (schema.required ?? []).length > 0);
  return { requestBody: { required, content } };
}

function writeAnswer(answer: Answer, always: readonly ResponseHeader[]): WrittenAnswer {
  const { name, description, content, headers = [] } = answer;
  const names: ResponseHeader[] = ['x-request-id', ...always, ...headers];
  return {
    // Open operations have fewer headers.
    ...(name === undefined ? {} : { [NAME]: always.length === 0 ? name : `${name}.caller` }),
    description,
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...(content === undefined ? {} : { content: contentOf(content) }),
  };
}

/** A HEAD: its answers have no content. @param get the same as a GET */
export function asHead(get: Written): Written {
  const responses = Object.entries(get.responses).map(([status, answer]) => {
    const { content: _content, [NAME]: name, ...bare } = answer;
    return [status, name === undefined ? bare : { ...bare, description: 'The problem that the GET has.' }];
  });
  return { ...get, responses: Object.fromEntries(responses) };
}
