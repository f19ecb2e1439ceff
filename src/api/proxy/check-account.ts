/** May the team have this of the platform? The last look at accounts before a pass-through request is sent. */
import type { RouteRule } from '../../config/schema.js';
import { GatewayError } from '../../errors.js';
import { accountLookalikes, type OwnIds } from '../../reports/query/account-lookalikes.js';
import { asDocument, collectAccounts, isAccountName } from '../../reports/query/accounts.js';
import { accountsInPath, type NamedAccount, namesOwner } from '../../reports/query/asked-accounts.js';
import type { QueryPair } from '../../reports/query/given-parameters.js';
import { type Json, JsonNumber } from '../../reports/rows/json.js';
import { checkAdvertiser } from '../../teams/policy/check-advertiser.js';
import type { PassRules } from './checks.js';
import type { PassContext, Question } from './passage.js';

type Asker = Pick<PassContext, 'caller' | 'rule' | 'path'>;
type Asked = Pick<Question, 'pairs' | 'parsed'>;

/**
 * A limited team passes only on declared routes, and only with an account of its own.
 * @throws GatewayError `route_forbidden`, `advertiser_required`, `advertiser_forbidden`
 */
export function checkAccount({ caller, rule, path }: Asker, asked: Asked, rules: PassRules): void {
  if (caller.team.advertisers === '*') return;
  if (rule === undefined || rule.account.length === 0) throw new GatewayError('route_forbidden');
  const { pairs, parsed: body } = asked;
  const declared = rule.account.flatMap((place) => declaredAccount(place, asked));
  // The declared places first: a refusal then names the very field.
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
    // Of what `ids` are, the path says: `campaign/get`, or `advertiser/get`.
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
  // A field that is declared for the one is not checked in the other.
  const fieldsIn = (place: string) =>
    rule.account
      .filter((field) => field.startsWith(`${place}.`))
      .map((field) => field.slice(place.length + 1));
  return [
    ...accountLookalikes(inQuery, { ...rules, accountFields: fieldsIn('query') }, own),
    ...accountLookalikes(inBody, { ...rules, accountFields: fieldsIn('body') }, own),
  ];
}

/** `advertisers[0][id]=2` names an account by all of its parts, as the same in a body would. */
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

/** Anything but a plain number or text is no account of anybody's. */
function scalarText(value: Json): string {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'string' ? value : '';
}
