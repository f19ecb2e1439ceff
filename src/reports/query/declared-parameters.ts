/**
 * What a team with a list of advertisers may send in a report: declared parameters, each of a declared kind. In anything
 * else the platform may read an account. Pure.
 */
import type { FieldFault } from '../../errors.js';
import { clipName } from '../../lib/http/problem.js';
import { plainName } from '../../lib/near-name.js';
import { isJsonArray, type Json, JsonNumber, JsonObject } from '../rows/json.js';
import type { LookalikeRules } from './account-lookalikes.js';
import { ACTS_AS, accountNameKind, SHORT_NAME } from './account-words.js';
import { isAccountName } from './accounts.js';
import { dayNumber } from './days.js';
import { isOwn, type RequestParameter } from './given-parameters.js';
import {
  type DeclaredKind,
  declarationOf,
  flagOf,
  isInteger,
  isSplit,
  type NameRules,
} from './parameters.js';

/** Declared without settings, beside the parameters of the platform's document and `by…` as a flag. */
export const DECLARED: ReadonlyMap<string, DeclaredKind> = new Map([
  ...of('int', 'limit', 'offset', 'page', 'perPage', 'pageSize'),
  ...of(
    'word',
    'sort',
    'sortBy',
    'order',
    'orderBy',
    'direction',
    'currency',
    'lang',
    'locale',
    'granularity',
  ),
  ...of('word', 'interval'),
  ...of('zone', 'timezone', 'tz'),
  ...of('set', 'campaignId', 'campaignIds', 'creativeIds', 'dealIds'),
]);

function of(kind: DeclaredKind, ...names: string[]): [string, DeclaredKind][] {
  return names.map((name) => [name, kind]);
}

export type DeclaredRules = LookalikeRules & NameRules;

/** @returns a fault for each parameter, or member of a body, that is not declared or not of its kind */
export function undeclaredParameters(
  given: readonly RequestParameter[],
  endpoint: string,
  rules: DeclaredRules,
): FieldFault[] {
  const entries = rules.endpoints.get(endpoint)?.knownParameters ?? [];
  const declared = new Map(entries.map(declarationOf).map(({ path, kind }) => [path, kind]));
  const setting = `report.endpoints."${endpoint}".knownParameters`;

  function kindOf(path: string): DeclaredKind | undefined {
    const known = rules.table.kinds.get(path);
    if (known !== undefined) return known === 'text' ? 'word' : known;
    return declared.get(path) ?? DECLARED.get(path) ?? (isSplit(path) ? 'flag' : undefined);
  }

  function faultsIn(path: string, value: Json): FieldFault[] {
    if (value instanceof JsonObject && value.names.length > 0)
      return value.names.flatMap((name, at) => faultsIn(`${path}.${name}`, value.values[at] as Json));
    const name = clipName(path);
    const kind = kindOf(path);
    if (kind === undefined) {
      const message =
        'is not declared, and a team with a list of advertisers may send declared parameters only';
      const help = `Omit ${name}, or ask your operator to declare it in ${setting}, or in report.nonAccountParameters if it is an expression, an object or a list of objects.`;
      return [{ param: path, message, help }];
    }
    const message = faultOf(kind, value, rules);
    if (message === null) return [];
    const help = `Send ${name} as ${EXPECTED[kind]}, or ask your operator to declare another kind of value in ${setting}, or in report.nonAccountParameters that it names no account.`;
    return [{ param: path, message, help }];
  }

  return given
    .filter((one) => !isOwn(one) && !rules.nonAccounts?.includes(one.name))
    .flatMap(({ name, place, list, values, json }) =>
      faultsIn(name, place === 'body' ? json : list || values.length > 1 ? values : (values[0] ?? '')),
    );
}

const EXPECTED: Readonly<Record<DeclaredKind, string>> = {
  flag: '1 or true (on), 0, false or empty (off)',
  int: 'a whole number without sign or leading zero, at most 16 digits',
  set: 'a list of whole numbers',
  date: 'a calendar day as YYYY-MM-DD',
  word: 'one word of at most 64 letters, digits and _ . , : -',
  zone: 'a time zone, e.g. Europe/Berlin, CET or +02:00',
};

/** Why a value is not of a kind; null: it is. */
function faultOf(kind: DeclaredKind, value: Json, rules: LookalikeRules): string | null {
  const texts = kind === 'set' && isJsonArray(value) ? value.map(textOf) : [textOf(value)];
  if (!texts.every((text) => text !== null && isOfKind(kind, text))) return `must be ${EXPECTED[kind]}`;
  return (kind === 'word' || kind === 'zone') && texts.some((text) => saysAccount(text as string, rules))
    ? 'must not be an account field, nor name one before a number'
    : null;
}

/** The text of a scalar; null has none, as in `sort=`. @returns null for objects and lists */
function textOf(value: Json): string | null {
  if (value instanceof JsonNumber) return value.text;
  return typeof value === 'object' && value !== null ? null : String(value ?? '');
}

const WORD = /^[A-Za-z0-9_.,:-]{0,64}$/;
/** Names of the IANA time zone database, and offsets (RFC 3339, section 5.6). */
const ZONE =
  /^(?:[A-Za-z0-9]{1,24}(?:[/_-][A-Za-z0-9]{1,24}){0,6}|Etc\/GMT[+-][0-9]{1,2}|(?:UTC|GMT)?[+-][0-9]{2}:?[0-9]{2})?$/;

function isOfKind(kind: DeclaredKind, text: string): boolean {
  switch (kind) {
    case 'flag':
      return flagOf(text) !== null;
    case 'int':
      return text === '0' || isInteger(text);
    case 'set':
      return text.split(',').every(isInteger);
    case 'date':
      return dayNumber(text) !== null;
    case 'word':
      return WORD.test(text);
    case 'zone':
      return ZONE.test(text);
  }
}

/** Words that make up the name of a field: `sub.account.id`. */
const MAX_PARTS = 3;

/** `advertiserId`, `-user.id`, `advertiser,eq,2`, `client2`; not `advertiserId,spent`. */
function saysAccount(word: string, rules: LookalikeRules): boolean {
  const parts = word.match(/[A-Za-z_]+|[0-9]+/g) ?? [];
  const isField = (text: string) =>
    rules.accountFields.includes(text) ||
    isAccountName(text, rules.accountPattern) ||
    accountNameKind(text) !== null ||
    SHORT_NAME.test(plainName(text)) ||
    ACTS_AS.test(plainName(text));
  if (isField(word.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, ''))) return true;
  const lastNumber = parts.findLastIndex((part) => /^[0-9]/.test(part));
  const before = lastNumber < 0 ? [] : parts.slice(0, lastNumber);
  return before.some((_, at) => {
    const runs = Array.from({ length: MAX_PARTS }, (_none, more) => before.slice(at, at + more + 1));
    return runs.some((run) => isField(run.join('')));
  });
}
