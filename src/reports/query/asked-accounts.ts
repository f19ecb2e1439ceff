/** The accounts that a report request names, wherever they stand. */
import { isJsonArray, type Json, JsonNumber, JsonObject, writeJson } from '../rows/json.js';
import {
  accountLookalikes,
  type CandidateParameter,
  type LookalikeRules,
  type OwnIds,
} from './account-lookalikes.js';
import { OWNER } from './account-words.js';
import { collectAccounts, isAccountName } from './accounts.js';
import { isOwn, type RequestParameter } from './given-parameters.js';
import { isInteger, type ParameterTable } from './parameters.js';

/** What an account-like parameter said. */
export interface NamedAccount {
  readonly param: string;
  readonly values: readonly string[];
}

/** @returns the first account field's value that is an id; null when there is none */
export function accountOf(given: readonly RequestParameter[], fields: readonly string[]): string | null {
  for (const field of fields) {
    const one = given.find(({ name }) => name === field);
    const text = one === undefined ? null : scalar(one);
    // What is no id is refused as such; until then nothing may be looked up by it.
    if (text !== null && isInteger(text)) return text;
  }
  return null;
}

/** Every account-like value; policy decides on them. */
export function namedAccounts(given: readonly RequestParameter[], rules: LookalikeRules): NamedAccount[] {
  return given.flatMap((one): NamedAccount[] => {
    const itself = rules.accountFields.includes(one.name) || isAccountName(one.name, rules.accountPattern);
    if (one.place === 'query') return itself ? [{ param: one.name, values: one.values }] : [];
    // With its name, for `{"advertiser": {"id": 2}}` names an account by both.
    const inside = collectAccounts(new JsonObject([one.name], [one.json]), rules.accountPattern);
    const values = [...new Set([...(itself ? jsonTexts(one.json) : []), ...inside])];
    return values.length > 0 ? [{ param: one.name, values }] : [];
  });
}

/**
 * Parameters that look like an account, and are not checked as one.
 * @param declaredNames names that an operator says are none, where they stand as a parameter
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
  // No parameter `ids` is documented for reports; campaigns have a name of their own.
  return accountLookalikes(parameters, rules, { isOwn: isOwnAccount, bareIds: true });
}

function jsonTexts(json: Json): string[] {
  if (isJsonArray(json)) return json.flatMap(jsonTexts);
  if (json instanceof JsonNumber) return [json.text];
  return [typeof json === 'string' ? json : writeJson(json)];
}

function scalar({ place, values, json }: RequestParameter): string | null {
  if (place === 'query') return values[0] ?? null;
  if (json instanceof JsonNumber) return json.text;
  return typeof json === 'string' ? json : null;
}

// Which accounts the path of a request names: some platforms have addresses such as `advertiser/2/stats`. Pure.

const OWNER_SEGMENT = new RegExp(`^(?:[a-z]+[-_.])?(?:${OWNER}|adv)s?(?:[-_.]?ids?)?$`, 'i');
const OWNER_AND_ID = new RegExp(`^(?:${OWNER}|adv)s?[-_.~](\\w*\\d\\w*)$`, 'i');

/** Whether what stands behind a path is an account: `/api/v1/advertiser/get`. */
export function namesOwner(path: string): boolean {
  return path.split('/').some((segment) => OWNER_SEGMENT.test(segment));
}

/**
 * The accounts that a path names: `2` in `advertiser/2/stats` and in `user-2`. What holds no digit is another word.
 * @returns at most one entry, with every value
 */
export function accountsInPath(path: string): NamedAccount[] {
  const segments = path.split('/');
  const values = segments.flatMap((segment, index) => {
    const inside = OWNER_AND_ID.exec(segment)?.[1];
    if (inside !== undefined) return [inside];
    return OWNER_SEGMENT.test(segments[index - 1] ?? '') && /\d/.test(segment) ? [segment] : [];
  });
  return values.length > 0 ? [{ param: 'the path', values }] : [];
}
