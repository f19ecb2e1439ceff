/**
 * Stage: what of a pass-through request may reach the platform. Decides on the query, the body and the account;
 * the streaming itself is done by `routes/pass-through.ts`.
 */
import type { Caller } from '../auth/authenticate.js';
import type { Scope } from '../auth/team.js';
import type { RouteRule } from '../config/schema.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { checkAdvertiser } from '../policy/check-advertiser.js';
import { accountLookalikes } from '../report/account-lookalikes.js';
import { asDocument, collectAccounts, isAccountName } from '../report/accounts.js';
import { accountsInPath } from '../report/accounts-in-path.js';
import type { NamedAccount } from '../report/canonicalize.js';
import { isJsonArray, type Json, JsonNumber, JsonObject } from '../report/json.js';
import { parseQueryText, type QueryPair, writeQueryText } from '../report/query-text.js';
import { overrideRefused } from './method-override.js';

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

/** GET, HEAD and declared reads need `platform:read`, everything else `platform:write`. */
export function scopeOf(method: string, rule: RouteRule | undefined): Scope {
  return method === 'GET' || method === 'HEAD' || rule?.read ? 'platform:read' : 'platform:write';
}

/** Whether the body has to be read, and not only streamed, before the call may go. */
export function mustReadBody(caller: Caller, rule: RouteRule | undefined): boolean {
  return caller.team.advertisers !== '*' || rule?.read === true;
}

/**
 * The query in the spelling in which it was checked.
 * @throws GatewayError `invalid_query` for names that the platform might read as others
 */
export function checkQuery(text: string): { readonly pairs: readonly QueryPair[]; readonly text: string } {
  const pairs = parseQueryText(text);
  const faults = pairs
    .filter(({ name }) => !QUERY_NAME.test(name))
    .map(({ name }): FieldFault => ({ param: name, message: nameFault(name) }));
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return { pairs, text: writeQueryText(pairs) };
}

function nameFault(name: string): string {
  return name.startsWith('_')
    ? 'is not passed through: names that start with _ belong to the gateway'
    : 'is not a parameter name: a letter, then letters, digits or _, and [..] at the end';
}

/** @throws GatewayError `invalid_body` for members that would change the method, or that no reader agrees on */
export function checkBody(body: JsonObject): void {
  if (body.names.includes('_method')) throw overrideRefused();
  refuseControlNames(body);
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

/**
 * A limited team passes only on declared routes, and only with an account of its own.
 * @throws GatewayError `route_forbidden`, `advertiser_required`, `advertiser_forbidden`
 */
export function checkAccount(
  caller: Caller,
  rule: RouteRule | undefined,
  pairs: readonly QueryPair[],
  body: JsonObject | null,
  rules: PassRules,
  path = '',
): void {
  if (caller.team.advertisers === '*') return;
  if (rule === undefined || rule.account.length === 0) throw new GatewayError('route_forbidden');
  const accounts: NamedAccount[] = [
    ...accountsInPath(path),
    ...pairs.map((pair) => namedIn(pair, rules.accountPattern)),
    ...(body === null ? [] : [{ param: 'body', values: [...collectAccounts(body, rules.accountPattern)] }]),
    ...rule.account.flatMap((place) => declaredAccount(place, pairs, body)),
  ];
  const namesAccount = rule.account.some((place) => declaredAccount(place, pairs, body).length > 0);
  checkAdvertiser(caller, {
    accounts,
    namesAccount,
    accountFields: rule.account,
    lookalikes: () => lookalikesOf(rule, pairs, body, rules),
  });
}

function lookalikesOf(
  rule: RouteRule,
  pairs: readonly QueryPair[],
  body: JsonObject | null,
  rules: PassRules,
): string[] {
  const inQuery = pairs.map(({ name, value }) => ({ name, value, asks: true }));
  const inBody = (body?.names ?? []).map((name, index) => ({
    name,
    value: body?.values[index] as Json,
    asks: rule.read,
  }));
  // A field that is declared for the one is not checked in the other.
  const fieldsIn = (place: string) =>
    rule.account
      .filter((field) => field.startsWith(`${place}.`))
      .map((field) => field.slice(place.length + 1));
  return [
    ...accountLookalikes(inQuery, { ...rules, accountFields: fieldsIn('query') }),
    ...accountLookalikes(inBody, { ...rules, accountFields: fieldsIn('body') }),
  ];
}

/** `advertisers[0][id]=2` names an account by all of its parts, as the same in a body would. */
function namedIn({ name, value }: QueryPair, pattern: RegExp): NamedAccount {
  if (isAccountName(name, pattern)) return { param: name, values: [value] };
  return { param: name, values: [...collectAccounts(asDocument(name, value), pattern)] };
}

/** @param place e.g. `query.advertiserId` or `body.userId` */
function declaredAccount(
  place: string,
  pairs: readonly QueryPair[],
  body: JsonObject | null,
): NamedAccount[] {
  const [where, name = ''] = place.split('.', 2);
  if (where === 'query') {
    return pairs.filter((pair) => pair.name === name).map(({ value }) => ({ param: place, values: [value] }));
  }
  const value = body?.get(name);
  if (value === undefined) return [];
  return [{ param: place, values: [scalarText(value)] }];
}

/** Anything but a plain number or text is no account of anybody's. */
function scalarText(value: Json): string {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : '';
}
