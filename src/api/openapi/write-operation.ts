/** One operation of the OpenAPI document, from what its route tells and what the generator made of its schema. */
import type { TObject, TSchema } from 'typebox';
import { REQUEST_HEADERS, type ResponseHeader } from './headers.js';
import { NAME } from './hoist.js';
import type { Answer, Operation } from './operation.js';
import type { Plane } from './plane.js';
import { ANY_PROBLEM, mayBeThePlatforms, problemAnswers } from './problems.js';

/** What the generator makes of a route's schema. */
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

export interface Call {
  readonly path: string;
  readonly method: string;
  readonly shown: Generated;
  readonly operation: Operation;
}

export function writeOperation({ path, method, shown, operation }: Call, plane: Plane): Written {
  const { requestBody, tags = [], summary, security } = shown;
  const { id, query, body, headers = [], answers, problems = [] } = operation;
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
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => inPath(name, operation)),
      ...(query === undefined ? [] : inQuery(query)),
      ...headers.map((name) => ({ name, in: 'header', ...described(REQUEST_HEADERS[name]) })),
    ],
    ...takenBody(body === undefined ? requestBody?.content : contentOf(body)),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, answer]) => [
        status,
        // Of a caller who is not known nothing is left to be told.
        writeAnswer(answer, status === '401' ? [] : always),
      ]),
    ),
  };
}

/** A problem beside an answer that has its status, or that may have it. */
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

/** A schema, and its description where pages show it: beside it. */
export function described(schema: TSchema): { readonly description?: string; readonly schema: object } {
  const { description, ...rest } = schema as TSchema & { description?: string };
  return description === undefined ? { schema: rest } : { description, schema: rest };
}

function contentOf(schemas: Readonly<Record<string, TSchema>>): Record<string, { schema: TSchema }> {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));
}

interface BodySchema {
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

/** Nothing where an empty object is all that is taken; and a body may be left out where no member must be given. */
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
    // An operation that is open to anybody has fewer headers.
    ...(name === undefined ? {} : { [NAME]: always.length === 0 ? name : `${name}.caller` }),
    description,
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...(content === undefined ? {} : { content: contentOf(content) }),
  };
}

/** The same call, of whose answers there are the headers alone. */
export function asHead(get: Written, operationId: string): Written {
  const responses = Object.entries(get.responses).map(([status, answer]) => {
    const { content: _content, [NAME]: name, ...bare } = answer;
    return [status, name === undefined ? bare : { ...bare, description: 'The problem that the GET has.' }];
  });
  return { ...get, operationId, responses: Object.fromEntries(responses) };
}
