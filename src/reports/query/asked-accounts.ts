/** Accounts named in a report request: in its parameters and in its path. */
import { isJsonArray, type Json, JsonObject, writeJson } from '../rows/json.js';
import {
  accountLookalikes,
  type CandidateParameter,
  type LookalikeRules,
  type OwnIds,
} from './account-lookalikes.js';
import { OWNER } from './account-words.js';
import { collectAccounts, isAccountName } from './accounts.js';
import { isOwn, type RequestParameter } from './given-parameters.js';
import { isInteger, type ParameterTable, scalarText } from './parameters.js';

export interface NamedAccount {
  readonly param: string;
  readonly values: readonly string[];
}

/** The value of the first account field; null without an id. */
export function accountOf(given: readonly RequestParameter[], fields: readonly string[]): string | null {
  for (const field of fields) {
    const one = given.find(({ name }) => name === field);
    if (one === undefined) continue;
    const text = one.place === 'query' ? (one.values[0] ?? '') : scalarText(one.json);
    // Other values are refused later.
    if (text !== null && isInteger(text)) return text;
  }
  return null;
}

/** All account-like values, for the access policy. */
export function namedAccounts(given: readonly RequestParameter[], rules: LookalikeRules): NamedAccount[] {
  return given.flatMap((one): NamedAccount[] => {
    const itself = rules.accountFields.includes(one.name) || isAccountName(one.name, rules.accountPattern);
    if (one.place === 'query') return itself ? [{ param: one.name, values: one.values }] : [];
    // With its name: in `{"advertiser": {"id": 2}}` both name the account.
    const inside = collectAccounts(new JsonObject([one.name], [one.json]), rules.accountPattern);
    const values = [...new Set([...(itself ? jsonTexts(one.json) : []), ...inside])];
    return values.length > 0 ? [{ param: one.name, values }] : [];
  });
}

/**
 * Parameters that look like an account and are not checked as one.
 * @param declaredNames parameters that an operator declares not to name accounts
 */
export function lookalikesOf(
  given: readonly RequestParameter[],
  declaredNames: readonly string[],
  rules: LookalikeRules & { readonly table: ParameterTable },
  isOwnAccount: OwnIds['isOwn'],
): readonly string[] {
  const isOpen = (name: string) => (rules.table.kinds.get(name) ?? 'text') === 'text';
  const open = given.filter((one) => !isOwn(one) && isOpen(one.name));
  const parameters = open.flatMap(({ name, place, values, json }): CandidateParameter[] => {
    const isVouchedFor = declaredNames.includes(name);
    return (place === 'body' ? [json] : values).map((value) => ({ name, value, asks: true, isVouchedFor }));
  });
  // Documented parameters have no bare `ids`; campaigns use `campaignIds`.
  return accountLookalikes(parameters, rules, { isOwn: isOwnAccount, bareIds: true });
}

function jsonTexts(json: Json): string[] {
  if (isJsonArray(json)) return json.flatMap(jsonTexts);
  return [typeof json === 'string' ? json : writeJson(json)];
}

// Accounts in paths: some platforms have addresses such as `advertiser/2/stats`.

const OWNER_SEGMENT = new RegExp(`^(?:[a-z]+[-_.])?(?:${OWNER}|adv)s?(?:[-_.]?ids?)?$`, 'i');
const OWNER_AND_ID = new RegExp(`^(?:${OWNER}|adv)s?[-_.~](\\w*\\d\\w*)$`, 'i');

/** Whether a segment is an account name: `/api/v1/advertiser/get`. */
export function namesOwner(path: string): boolean {
  return path.split('/').some((segment) => OWNER_SEGMENT.test(segment));
}

/** `2` in `advertiser/2/stats` and in `user-2`. Segments without a digit are words. @returns at most one entry, with all values */
export function accountsInPath(path: string): NamedAccount[] {
  const segments = path.split('/');
  const values = segments.flatMap((segment, index) => {
    const inside = OWNER_AND_ID.exec(segment)?.[1];
    if (inside !== undefined) return [inside];
    return OWNER_SEGMENT.test(segments[index - 1] ?? '') && /\d/.test(segment) ? [segment] : [];
  });
  return values.length > 0 ? [{ param: 'the path', values }] : [];
}
