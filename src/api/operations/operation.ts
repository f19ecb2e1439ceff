/**
 * One call of the admin API. Route, checks of query and body, role, OpenAPI description and the types of commands and console
 * come from this entry; `serve` (`api/admin/serve.ts`) connects it to its handler.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import type { AdminRole } from '../../config/schema.js';
import type { Frozen } from '../../lib/record.js';
import { type Answer, json, type Operation } from '../openapi/operation.js';

export interface AdminOperation extends Pick<Operation, 'path' | 'query' | 'headers' | 'problems'> {
  /** Unique on the plane; clients name a function by it. */
  readonly id: string;
  readonly call: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /admin/v1/${string}`;
  /** The least role that may make it. */
  readonly role: AdminRole;
  readonly tag: string;
  readonly summary: string;
  readonly body?: TSchema;
  /** Needs no token. */
  readonly isOpen?: true;
  /** Bytes; absent: that of all calls. */
  readonly bodyLimit?: number;
  /** Of the answer; 200 if absent. */
  readonly status?: 201 | 204;
  /** JSON. Absent for 204, and where `answers` says more than a schema can. */
  readonly answer?: TSchema;
  /** What the answer is, in a few words. */
  readonly about?: string;
  readonly answers?: Operation['answers'];
}

type Head = Pick<AdminOperation, 'id' | 'role' | 'call' | 'tag' | 'summary'>;
type Rest = Omit<AdminOperation, keyof Head>;

/** Operations under one heading of the OpenAPI document. */
export const operations =
  (tag: string) =>
  <const C extends AdminOperation['call'], const R extends Rest>(
    id: string,
    role: AdminRole,
    call: C,
    summary: string,
    rest: R,
  ): Head & { readonly call: C } & R => ({ id, role, call, tag, summary, ...rest });

/** Types of a request, for its handler. */
export interface RequestTypes<O extends AdminOperation> {
  Params: { readonly id: string };
  Querystring: O extends { readonly query: infer Q extends TObject } ? Static<Q> : unknown;
  Body: O extends { readonly body: infer B extends TSchema } ? Static<B> : unknown;
}

export type AnswerOf<O> = O extends { readonly answer: infer A extends TSchema }
  ? Frozen<Static<A>>
  : unknown;

/** The description in the OpenAPI document. */
export function describeOperation(operation: AdminOperation): Operation {
  const { id, role, path, query, headers, problems, call, status = 200, answer, about, answers } = operation;
  const isChange = !call.startsWith('GET ');
  const usual =
    answer === undefined ? REMOVED_ANSWERS : { [status]: (isChange ? changed : json)(answer, about) };
  return {
    id,
    role,
    answers: answers ?? usual,
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
    description:
      'The change is made, and only so many replicas of Redis have confirmed it: it could be lost.',
  },
);
const PERHAPS = Type.Object({ unconfirmed: Type.Optional(UNCONFIRMED) });

/** The answer to a change. */
export function changed(schema: TSchema, description = 'Done.'): Answer {
  return json(Type.Intersect([schema, PERHAPS]), description);
}

/** The answers to a change that has nothing to say. */
export const REMOVED_ANSWERS: Readonly<Record<string, Answer>> = {
  204: { description: 'Done; there is nothing to say.' },
  200: json(Type.Object({ unconfirmed: UNCONFIRMED }), 'Done, and confirmed by too few replicas of Redis.'),
};

export const OF_TEAM = { id: "The team's id." };

/** The id of a team, also of one that was deleted: its usage stays. */
export const TEAM_ID = '^[a-z0-9-]{1,40}$';
