/** One call of the data plane that takes a team's key: route and OpenAPI description come from this entry (`api/data/serve.ts`). */
import type { TSchema } from 'typebox';
import { json, type Operation } from '../openapi/operation.js';

export interface TeamOperation extends Pick<Operation, 'path' | 'query' | 'headers' | 'problems' | 'body'> {
  /** Unique on the plane; clients name a function by it. */
  readonly id: string;
  readonly call: `${'GET' | 'POST' | 'DELETE'} /gateway/v1/${string}`;
  readonly tag: string;
  readonly summary: string;
  /** JSON, of status 200. Absent where `answers` says more than a schema can. */
  readonly answer?: TSchema;
  /** What the answer is, in a few words. */
  readonly about?: string;
  readonly answers?: Operation['answers'];
  /** Counts as no request of the team: it tells the team of itself. */
  readonly isFree?: true;
  /** Who may make it; absent: whoever has a team key. */
  readonly by?: 'anybody' | 'session';
}

type Head = Pick<TeamOperation, 'id' | 'call' | 'tag' | 'summary'>;

export const teamCall = <
  const C extends TeamOperation['call'],
  const R extends Omit<TeamOperation, keyof Head>,
>(
  id: string,
  call: C,
  tag: string,
  summary: string,
  rest: R,
): Head & { readonly call: C } & R => ({ id, call, tag, summary, ...rest });

/** The description in the OpenAPI document. */
export function describeTeamCall(operation: TeamOperation): Operation {
  const {
    call: _call,
    tag: _tag,
    summary: _summary,
    by: _by,
    isFree: _isFree,
    answer,
    about,
    answers,
    ...rest
  } = operation;
  const usual = answer === undefined ? {} : { 200: json(answer, about, ['cache-control']) };
  return { ...rest, answers: answers ?? usual };
}
