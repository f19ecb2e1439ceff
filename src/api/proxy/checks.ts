/** Which rule a pass-through request falls under, and what of its query and body may reach the platform. Pure. */

import type { RouteRule } from '../../config/schema.js';
import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { parseQueryText, type QueryPair, writeQueryText } from '../../reports/query/given-parameters.js';
import { isJsonArray, type Json, JsonObject } from '../../reports/rows/json.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { Scope } from '../../teams/auth/team.js';
import { overrideRefused } from './method-override.js';

/** The one parameter of the gateway's own. */
const DRY_RUN = '_dryRun';
/** `name`, `name[]`, `name[key]`: what the platform's framework reads as nothing else. */
const QUERY_NAME = /^[A-Za-z][A-Za-z0-9_]*(\[[A-Za-z0-9_]*\])*$/;

export interface PassRules {
  readonly routes: readonly RouteRule[];
  readonly accountPattern: RegExp;
  /** Names an operator vouches for: they name no account. */
  readonly nonAccounts?: readonly string[];
}

/** The declared rule for a route, if there is one; a HEAD has that of its GET. A segment `*` stands for any one. */
export function findRule(method: string, path: string, rules: PassRules): RouteRule | undefined {
  const forMethod = (wanted: string) =>
    rules.routes.find((rule) => rule.method === wanted && matches(rule.path, path));
  return forMethod(method) ?? (method === 'HEAD' ? forMethod('GET') : undefined);
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length && wanted.every((part, index) => part === '*' || part === given[index])
  );
}

/** Everything but GET, HEAD and declared reads. */
export function isWrite(method: string, rule: RouteRule | undefined): boolean {
  return method !== 'GET' && method !== 'HEAD' && rule?.read !== true;
}

/** Reads need `platform:read`, writes `platform:write`. */
export function scopeOf(method: string, rule: RouteRule | undefined): Scope {
  return isWrite(method, rule) ? 'platform:write' : 'platform:read';
}

/** Whether the body has to be read, and not only streamed, before the call may go. */
export function mustReadBody(caller: Caller, rule: RouteRule | undefined): boolean {
  return caller.team.advertisers !== '*' || rule?.read === true;
}

export interface CheckedQuery {
  readonly pairs: readonly QueryPair[];
  readonly text: string;
  /** Whether a write is to be looked at only. */
  readonly dryRun: boolean;
}

/**
 * The query in the spelling in which it was checked, without what is the gateway's own.
 * @param takesDryRun whether `_dryRun` means anything
 * @throws GatewayError `invalid_query` for names that the platform might read as others
 */
export function checkQuery(text: string, takesDryRun = false): CheckedQuery {
  const given = parseQueryText(text);
  const own = given.filter(({ name }) => takesDryRun && name === DRY_RUN);
  if (own.length > 1 || own.some(({ value }) => value !== '1'))
    throw invalidQuery({ param: DRY_RUN, message: 'allowed is 1, once' });
  const pairs = given.filter((pair) => !own.includes(pair));
  const faults = pairs
    .filter(({ name }) => !QUERY_NAME.test(name))
    .map(({ name }): FieldFault => ({ param: name, message: nameFault(name) }));
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return { pairs, text: writeQueryText(pairs), dryRun: own.length === 1 };
}

function nameFault(name: string): string {
  if (name === DRY_RUN) return 'is for writes alone';
  return name.startsWith('_')
    ? 'is not passed through: names that start with _ belong to the gateway'
    : 'is not a parameter name: a letter, then letters, digits or _, and [..] at the end';
}

/**
 * @throws GatewayError `invalid_body` for members that would change the method, or that no reader agrees on; and for a dry run
 * that is asked for in the wrong place, and would be sent
 */
export function checkBody(body: JsonObject): void {
  if (body.names.includes('_method')) throw overrideRefused();
  if (body.names.includes(DRY_RUN)) throw misplacedDryRun();
  refuseControlNames(body);
}

function misplacedDryRun(): GatewayError {
  return new GatewayError('invalid_body', {
    errors: [{ param: DRY_RUN, message: `belongs to the query, as ?${DRY_RUN}=1; nothing was sent` }],
  });
}

function refuseControlNames(json: Json): void {
  if (isJsonArray(json)) for (const item of json) refuseControlNames(item);
  if (!(json instanceof JsonObject)) return;
  const bad = json.names.find((name) => /\p{Cc}/u.test(name));
  if (bad !== undefined) {
    throw new GatewayError('invalid_body', {
      errors: [{ param: JSON.stringify(bad), message: 'holds a control character' }],
    });
  }
  for (const value of json.values) refuseControlNames(value);
}
