/**
 * The gateway's own calls. Each entry defines route, validation, role, OpenAPI description and the types of commands and
 * pages; `serve` (`api/admin/serve.ts`) or `serveTeam` (`api/data/serve.ts`) connects it to its handler.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import type { AdminRole } from '../../config/sign-in-settings.js';
import type { Frozen } from '../../lib/record.js';
import { type Answer, json, type Operation } from '../openapi/operation.js';

type Described = Pick<Operation, 'path' | 'query' | 'headers' | 'problems'>;

interface Call extends Described {
  /** Unique on the plane; generated clients name their functions by it. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** JSON. */
  readonly body?: TSchema;
  /** JSON. Absent for 204, and where `answers` replaces it. */
  readonly answer?: TSchema;
  readonly about?: string;
  readonly answers?: Operation['answers'];
}

export interface AdminOperation extends Call {
  readonly call: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /admin/v1/${string}`;
  readonly by: AdminRole;
  /** Needs no token. */
  readonly isOpen?: true;
  /** Bytes; the plane's limit by default. */
  readonly bodyLimit?: number;
  /** Of the answer; 200 by default. */
  readonly status?: 201 | 204;
}

export interface TeamOperation extends Call {
  readonly call: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /gateway/v1/${string}`;
  readonly by: 'key' | 'session' | 'anybody';
  /** Does not count as a request of the team. */
  readonly isFree?: true;
}

type Of<C> = C extends AdminOperation['call'] ? AdminOperation : TeamOperation;

/** Defines operations under one tag of the OpenAPI document. */
export const operations =
  (tag: string) =>
  <
    const C extends (AdminOperation | TeamOperation)['call'],
    const R extends Omit<Of<C>, 'id' | 'tag' | 'call' | 'by'>,
  >(
    id: string,
    by: Of<C>['by'],
    call: C,
    rest: R,
  ) => ({ id, by, call, tag, ...rest });

export interface RequestTypes<O extends AdminOperation | TeamOperation> {
  Params: { readonly id: string };
  Querystring: O extends { readonly query: infer Q extends TObject } ? Static<Q> : unknown;
  Body: O extends { readonly body: infer B extends TSchema } ? Static<B> : unknown;
}

export type AnswerOf<O> = O extends { readonly answer: infer A extends TSchema }
  ? Frozen<Static<A>>
  : unknown;

export function describeOperation(operation: AdminOperation): Operation {
  const { by, call, status = 200, answer, about } = operation;
  const usual =
    answer === undefined
      ? REMOVED_ANSWERS
      : { [status]: (call.startsWith('GET ') ? json : changed)(answer, about) };
  return { ...described(operation, usual), role: by };
}

/** On the data plane each route reads its body itself. */
export function describeTeamOperation(operation: TeamOperation): Operation {
  const { body, answer, about } = operation;
  const usual = answer === undefined ? {} : { 200: json(answer, about, ['cache-control']) };
  return { ...described(operation, usual), ...(body && { body: { 'application/json': body } }) };
}

function described(operation: Call, usual: Operation['answers']): Operation {
  const { id, path, query, headers, problems, answers = usual } = operation;
  return {
    id,
    answers,
    ...(path && { path }),
    ...(query && { query }),
    ...(headers && { headers }),
    ...(problems && { problems }),
  };
}

const UNCONFIRMED = Type.Object(
  { replicas: Type.Integer({ minimum: 0 }), wanted: Type.Integer({ minimum: 0 }) },
  {
    title: 'Unconfirmed',
    description: 'The change is made, but too few Redis replicas have confirmed it: it could be lost.',
  },
);
const PERHAPS = Type.Object({ unconfirmed: Type.Optional(UNCONFIRMED) });

/** The answer to a change. */
export function changed(schema: TSchema, description = 'Done.'): Answer {
  return json(Type.Intersect([schema, PERHAPS]), description);
}

/** The answers to a change without content. */
export const REMOVED_ANSWERS: Readonly<Record<string, Answer>> = {
  204: { description: 'Done.' },
  200: json(Type.Object({ unconfirmed: UNCONFIRMED }), 'Done, but confirmed by too few Redis replicas.'),
};

export const OF_TEAM = { id: "The team's id." };

/** The id of a team, including deleted ones, whose usage is kept. */
const TEAM_ID = '^[a-z0-9-]{1,40}$';

/** A query parameter that selects a team. */
export const ofTeam = (description: string) => Type.Optional(Type.String({ pattern: TEAM_ID, description }));
