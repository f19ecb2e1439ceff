/** The rule of a pass-through request, and the checks of its query and body. Pure. */
import type { RouteRule } from '../../config/schema.js';
import type { Scope } from '../../config/sign-in-settings.js';
import { type FieldFault, GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { accountLookalikes, type OwnIds } from '../../reports/query/account-lookalikes.js';
import { asDocument, collectAccounts, isAccountName } from '../../reports/query/accounts.js';
import { accountsInPath, type NamedAccount, namesOwner } from '../../reports/query/asked-accounts.js';
import { parseQueryText, type QueryPair, writeQueryText } from '../../reports/query/given-parameters.js';
import { isJsonArray, type Json, JsonNumber, JsonObject } from '../../reports/rows/json.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { checkAdvertiser } from '../../teams/policy/authorize.js';
import { nearReport, REPORTS } from '../http/not-found.js';
import { overrideRefused } from './method-override.js';

const DRY_RUN = '_dryRun';
/** `name`, `name[]`, `name[key]`: names that the platform's framework reads in one way only. */
const QUERY_NAME = /^[A-Za-z][A-Za-z0-9_]*(\[[A-Za-z0-9_]*\])*$/;

export interface PassRules {
  readonly routes: readonly RouteRule[];
  readonly accountPattern: RegExp;
  /** Names that match the pattern but are declared to name no account. */
  readonly nonAccounts?: readonly string[];
}

/** The declared rule of a route; a HEAD has the rule of its GET. A segment `*` stands for any segment. */
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

export function scopeOf(method: string, rule: RouteRule | undefined): Scope {
  return isWrite(method, rule) ? 'platform:write' : 'platform:read';
}

/** Whether the body must be read before the call, instead of being streamed. */
export function mustReadBody(caller: Caller, rule: RouteRule | undefined): boolean {
  return caller.team.advertisers !== '*' || rule?.read === true;
}

/**
 * The query in canonical spelling, without the gateway's own parameter.
 * @param takesDryRun whether `_dryRun` is allowed
 * @throws GatewayError `invalid_query` for names that the platform might read as other names
 */
export function checkPassedQuery(text: string, takesDryRun = false) {
  const given = parseQueryText(text);
  const own = given.filter(({ name }) => takesDryRun && name === DRY_RUN);
  if (own.length > 1 || own.some(({ value }) => value !== '1'))
    throw invalidQuery(mustBe(DRY_RUN, '1 and not repeated'));
  const pairs = given.filter((pair) => !own.includes(pair));
  const faults = pairs
    .filter(({ name }) => !QUERY_NAME.test(name))
    .map(({ name }): FieldFault => ({ param: name, message: nameFault(name) }));
  if (faults.length > 0) throw invalidQuery(...faults);
  return { pairs, text: writeQueryText(pairs), dryRun: own.length === 1 };
}

function nameFault(name: string): string {
  if (name === DRY_RUN) return 'is for writes only';
  return name.startsWith('_')
    ? 'is not passed through: names that start with _ are reserved for the gateway'
    : 'is not a parameter name: a letter, then letters, digits or _, and [..] at the end';
}

/**
 * @throws GatewayError `invalid_body` for members that change the method, names with control characters, and a `_dryRun` in
 *   the body: such a write would be sent
 */
export function checkBody(body: JsonObject): void {
  if (body.names.includes('_method')) throw overrideRefused();
  if (body.names.includes(DRY_RUN))
    throw new GatewayError('invalid_body', {
      errors: [{ param: DRY_RUN, message: `must be in the query, as ?${DRY_RUN}=1; nothing was sent` }],
    });
  refuseControlNames(body);
}

function refuseControlNames(json: Json): void {
  if (isJsonArray(json)) for (const item of json) refuseControlNames(item);
  if (!(json instanceof JsonObject)) return;
  const bad = json.names.find((name) => /\p{Cc}/u.test(name));
  if (bad !== undefined) {
    throw new GatewayError('invalid_body', {
      errors: [{ param: JSON.stringify(bad), message: 'contains a control character' }],
    });
  }
  for (const value of json.values) refuseControlNames(value);
}

// The check of accounts, before a pass-through request is sent.

interface Asked {
  readonly pairs: readonly QueryPair[];
  /** The object in a JSON body. */
  readonly parsed: JsonObject | null;
}

/** What is said more of a route that is not declared: whether its path is probably that of a report. */
function meantReport(path: string): { readonly detail: string; readonly help: string } | undefined {
  const meant = nearReport(path) ?? (/^\/api\/v\d+\/reports?$/i.test(path) ? `${REPORTS}…` : undefined);
  if (meant === undefined) return undefined;
  return {
    detail: `No route ${path} is declared, and the team is limited to certain advertisers: did you mean ${meant}?`,
    help: `Use ${meant}; if the platform has ${path} too, ask your operator to declare it in routes, with the field that names the advertiser.`,
  };
}

/**
 * A limited team passes only on declared routes, and only with an account of its own.
 * @throws GatewayError `route_forbidden`, `advertiser_required`, `advertiser_forbidden`
 */
export function checkAccount(
  {
    caller,
    rule,
    path,
  }: { readonly caller: Caller; readonly rule: RouteRule | undefined; readonly path: string },
  asked: Asked,
  rules: PassRules,
): void {
  if (caller.team.advertisers === '*') return;
  if (rule === undefined || rule.account.length === 0)
    throw new GatewayError('route_forbidden', rule === undefined ? meantReport(path) : undefined);
  const { pairs, parsed: body } = asked;
  const declared = rule.account.flatMap((place) => declaredAccount(place, asked));
  // Declared fields first: the refusal names the first one.
  const accounts: NamedAccount[] = [
    ...declared,
    ...accountsInPath(path),
    ...pairs.map((pair) => namedIn(pair, rules.accountPattern)),
    ...(body === null ? [] : [{ param: 'body', values: [...collectAccounts(body, rules.accountPattern)] }]),
  ];
  checkAdvertiser(caller, {
    accounts,
    namesAccount: declared.length > 0,
    accountFields: rule.account,
    // The path decides what `ids` means: `campaign/get` or `advertiser/get`.
    lookalikes: (isOwn) => lookalikesOf(rule, asked, rules, { isOwn, bareIds: namesOwner(path) }),
  });
}

function lookalikesOf(
  rule: RouteRule,
  { pairs, parsed: body }: Asked,
  rules: PassRules,
  own: OwnIds,
): string[] {
  const inQuery = pairs.map(({ name, value }) => ({ name, value, asks: true }));
  const inBody = (body?.names ?? []).map((name, index) => ({
    name,
    value: body?.values[index] as Json,
    asks: rule.read,
  }));
  // Fields are declared for query and body separately.
  const fieldsIn = (place: string) =>
    rule.account
      .filter((field) => field.startsWith(`${place}.`))
      .map((field) => field.slice(place.length + 1));
  return [
    ...accountLookalikes(inQuery, { ...rules, accountFields: fieldsIn('query') }, own),
    ...accountLookalikes(inBody, { ...rules, accountFields: fieldsIn('body') }, own),
  ];
}

/** All parts of `advertisers[0][id]=2` count, as in a body. */
function namedIn({ name, value }: QueryPair, pattern: RegExp): NamedAccount {
  if (isAccountName(name, pattern)) return { param: name, values: [value] };
  return { param: name, values: [...collectAccounts(asDocument(name, value), pattern)] };
}

/** @param place e.g. `query.advertiserId` or `body.userId` */
function declaredAccount(place: string, { pairs, parsed: body }: Asked): NamedAccount[] {
  const [where, name = ''] = place.split('.', 2);
  if (where === 'query') {
    return pairs.filter((pair) => pair.name === name).map(({ value }) => ({ param: place, values: [value] }));
  }
  const value = body?.get(name);
  if (value === undefined) return [];
  return [{ param: place, values: [scalarText(value)] }];
}

/** Only plain numbers and strings are accounts. */
function scalarText(value: Json): string {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : '';
}
