/**
 * Parameters that look as if they named an account, in words that nobody checks: `client`, `sub_account_id`, a filter
 * that speaks of `advertiserId`. The platform may read any of them, so a limited team may send none. Pure.
 */

import { OWNER } from './account-words.js';
import { asDocument, collectAccounts, isAccountName } from './accounts.js';
import { isJsonArray, type Json, JsonNumber, JsonObject } from './json.js';

export interface LookalikeRules {
  /** Names that are checked against the team's list already. */
  readonly accountFields: readonly string[];
  readonly accountPattern: RegExp;
  /** Names an operator vouches for: they name no account. */
  readonly nonAccounts?: readonly string[];
}

export interface GivenParameter {
  readonly name: string;
  /** A query value as text, or a body's value. */
  readonly value: Json;
  /**
   * Whether it is part of a question, whose texts may all be expressions; of what is to be written only what is named
   * like one is: an address to click may hold anything.
   */
  readonly asks: boolean;
}

/** Short ones count as whole names only: `adv` begins `advanced`, and `acc` begins `accuracy`. */
const OWNER_NAME = new RegExp(`${OWNER}|^(?:adv|acc|uid|org|organi[sz]ation|company)s?(?:ids?)?$`, 'i');
/** A split by accounts names none, as long as it says no more than on or off. */
const SPLIT = /^by[A-Z]/;
const SWITCHES = new Set(['', '0', '1', 'true', 'false', 'null']);
const BETWEEN = `[\\s_.\\-[\\]"'\\\\]*`;
/** `advertiserId`, `advertiser_id`, `"user.ids"` in a text; `advertiser: 2` and `client in (2)`, too. */
const SPOKEN = new RegExp(
  `(?:${OWNER})s?${BETWEEN}(?:ids?(?![a-z])|[:=<>!~]|(?<=[\\s\\]"'])(?:eq\\b|in\\s*[([]))`,
  'i',
);
/** The name of an account field and nothing else, where one part of an expression says the field and another the value. */
const FIELD = new RegExp(`^\\s*(?:[a-z]+[_.])?(?:${OWNER})s?\\s*$`, 'i');
const EXPRESSION = /filter|where|condition|criteri|expr|having|rule|^(?:query|q|search|scope|params)$/i;
/** What is filtered, rather than looked for by a word. */
const BY_FIELD = /filter|where|condition|criteri|expr|having|rule/i;
/** Which columns, and in which order: names alone select no account. */
const COLUMNS =
  /^(?:sort|order|group|sorted|ordered|grouped)(?:by)?$|^(?:fields|columns|dimensions|metrics)$/i;
const COLUMN_NAME = /^\s*[+-]?[a-z_]+(?:[\s:]+(?:asc|desc))?\s*$/i;

/** @returns the names of those that look like an account and are not checked as one, each once */
export function accountLookalikes(given: readonly GivenParameter[], rules: LookalikeRules): string[] {
  const found = given
    .filter(
      ({ name }) =>
        !rules.nonAccounts?.includes(name.replace(/\[\]$/, '')) && !rules.accountFields.includes(name),
    )
    .filter(({ name, value, asks }) => isLookalike(name, value, { texts: asks, fields: false }, rules))
    .map(({ name }) => name);
  return [...new Set(found)];
}

/** What is made of the texts in a value. */
interface Reading {
  /** They may be expressions. */
  readonly texts: boolean;
  /** One of them may be the field of an expression. */
  readonly fields: boolean;
}

function isLookalike(name: string, value: Json, above: Reading, rules: LookalikeRules): boolean {
  if (isAccountName(name, rules.accountPattern)) return false;
  const plain = bare(name);
  if (OWNER_NAME.test(plain) && !isSplit(name, value) && !isChecked(name, value, rules)) return true;
  if (COLUMNS.test(plain) && isColumns(value)) return false;
  const reading = {
    texts: above.texts || EXPRESSION.test(plain),
    fields: above.fields || BY_FIELD.test(plain),
  };
  return holdsLookalike(value, reading, rules);
}

function isSplit(name: string, value: Json): boolean {
  return (
    SPLIT.test(name) &&
    !isJsonArray(value) &&
    SWITCHES.has(value instanceof JsonNumber ? value.text : String(value))
  );
}

function isColumns(value: Json): boolean {
  return isJsonArray(value)
    ? value.every(isColumns)
    : typeof value === 'string' && value.split(',').every((name) => COLUMN_NAME.test(name));
}

/**
 * Whether an account was found by the name and what is below it, as in `{"advertiser": {"id": 2}}`; of a list, by each
 * of its items, for one that names nobody's id may name an account in another way.
 */
function isChecked(name: string, value: Json, rules: LookalikeRules): boolean {
  if (isJsonArray(value)) return value.length > 0 && value.every((item) => isChecked(name, item, rules));
  return collectAccounts(asDocument(name, value), rules.accountPattern).size > 0;
}

function holdsLookalike(value: Json, reading: Reading, rules: LookalikeRules): boolean {
  if (typeof value === 'string') return reading.texts && speaksOfAccount(value, reading.fields);
  if (isJsonArray(value)) return value.some((item) => holdsLookalike(item, reading, rules));
  if (!(value instanceof JsonObject)) return false;
  return value.names.some((name, index) =>
    rules.nonAccounts?.includes(name)
      ? false
      : isLookalike(name, value.values[index] as Json, reading, rules),
  );
}

/** A text that is encoded more often is nobody's honest filter. */
const MOST_DECODINGS = 8;

function speaksOfAccount(text: string, fields: boolean): boolean {
  let plain = text;
  for (let times = 0; times < MOST_DECODINGS; times++) {
    if (SPOKEN.test(plain) || (fields && FIELD.test(plain))) return true;
    const decoded = decode(plain);
    if (decoded === plain) return false;
    plain = decoded;
  }
  return true;
}

/** Encoded once more, as in an address or in JSON: whoever reads filters may decode them. */
function decode(text: string): string {
  return text.replace(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})/gi, (_, percent?: string, escaped?: string) =>
    String.fromCharCode(Number.parseInt(percent ?? (escaped as string), 16)),
  );
}

function bare(name: string): string {
  return name.replace(/[_.\-[\]\s]/g, '');
}
