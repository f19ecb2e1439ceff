/** All calls of the admin API, and the types of both planes' calls for clients. */
import type { Static } from 'typebox';
import type { AdminRole } from '../../config/sign-in-settings.js';
import type { Frozen } from '../../lib/record.js';
import type { ANSWER } from '../../reports/query/describe.js';
import * as cache from './cache.js';
import * as history from './history.js';
import * as keys from './keys.js';
import * as learned from './learned.js';
import type { AdminOperation, AnswerOf } from './operation.js';
import * as overview from './overview.js';
import type * as own from './own.js';
import type * as past from './past.js';
import * as registry from './registry.js';
import * as session from './session.js';
import * as teams from './teams.js';
import * as token from './token.js';
import type * as watches from './watches.js';
import * as writes from './writes.js';

const CALLS = {
  ...session,
  ...overview,
  ...teams,
  ...keys,
  ...token,
  ...cache,
  ...history,
  ...writes,
  ...learned,
  ...registry,
};

const isOperation = (one: unknown): one is AdminOperation =>
  typeof one === 'object' && one !== null && 'call' in one && 'by' in one;

export const ADMIN_OPERATIONS: readonly AdminOperation[] = Object.values<unknown>(CALLS).filter(isOperation);

type All = typeof CALLS & typeof own & typeof past & typeof watches;

/** Keyed by `METHOD pattern`. */
export type Calls = {
  readonly [Name in keyof All as All[Name] extends { readonly call: infer C extends string }
    ? C
    : never]: All[Name];
};

export type AnswerTo<Call extends keyof Calls> = AnswerOf<Calls[Call]>;

export type ReportAnswer = Frozen<Static<typeof ANSWER>>;

/** Not an operation of the API. */
const METRICS = 'GET /metrics';

export function callsOf(role: AdminRole): string[] {
  const calls = ADMIN_OPERATIONS.filter((one) => isAllowed(role, one.by)).map(({ call }): string => call);
  return [METRICS, ...calls];
}

export function isAllowed(role: AdminRole, least: AdminRole): boolean {
  return session.RANKS.indexOf(role) >= session.RANKS.indexOf(least);
}
