/**
 * Parameters that look as if they named an account, in words that nobody checks: `client`, `sub_account_id`, a filter
 * that speaks of `advertiserId`. The platform may read any of them, so a limited team may send none. Pure.
 */
import { collectAccounts, isAccountName } from './accounts.js';
import { isJsonArray, type Json, JsonObject } from './json.js';

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
  readonly place: 'query' | 'body';
}

const OWNER = 'user|account|advertiser|client|customer|agenc(?:y|ie)|owner|parent|tenant';
const OWNER_NAME = new RegExp(OWNER, 'i');
/** A split by accounts names none. */
const SPLIT = /^by[A-Z]/;
/** `advertiserId`, `advertiser_id`, `"user.ids"` in a text. */
const OWNER_ID = new RegExp(`(?:${OWNER})s?[\\s_.\\-[\\]"']*ids?(?![a-z])`, 'i');
/** Of a body, only what such members hold is read as an expression: an address to click may hold anything. */
const EXPRESSION =
  /^(?:filters?|where|query|q|search|conditions?|criteria|expr|expression|having|scope|params)$/i;

/** @returns the names of those that look like an account and are not checked as one, each once */
export function accountLookalikes(given: readonly GivenParameter[], rules: LookalikeRules): string[] {
  const found = given
    .filter(
      ({ name }) =>
        !rules.nonAccounts?.includes(name.replace(/\[\]$/, '')) && !rules.accountFields.includes(name),
    )
    .filter(({ name, value, place }) => isLookalike(name, value, place === 'query', rules))
    .map(({ name }) => name);
  return [...new Set(found)];
}

/** @param expression whether texts in the value may be expressions */
function isLookalike(name: string, value: Json, expression: boolean, rules: LookalikeRules): boolean {
  if (isAccountName(name, rules.accountPattern)) return false;
  if (OWNER_NAME.test(bare(name)) && !SPLIT.test(name) && !isChecked(name, value, rules)) return true;
  return holdsLookalike(value, expression || EXPRESSION.test(bare(name)), rules);
}

/** Whether an account was found by the name and what is below it, as in `{"advertiser": {"id": 2}}`. */
function isChecked(name: string, value: Json, { accountPattern }: LookalikeRules): boolean {
  const parts = name.split(/[[\]]+/).filter((part) => part !== '');
  const document = parts.reduceRight<Json>((below, part) => new JsonObject([part], [below]), value);
  return collectAccounts(document, accountPattern).size > 0;
}

function holdsLookalike(value: Json, expression: boolean, rules: LookalikeRules): boolean {
  if (typeof value === 'string') return expression && speaksOfAccount(value);
  if (isJsonArray(value)) return value.some((item) => holdsLookalike(item, expression, rules));
  if (!(value instanceof JsonObject)) return false;
  return value.names.some((name, index) =>
    rules.nonAccounts?.includes(name)
      ? false
      : isLookalike(name, value.values[index] as Json, expression, rules),
  );
}

function speaksOfAccount(text: string): boolean {
  if (OWNER_ID.test(text)) return true;
  if (!text.includes('%')) return false;
  // Encoded once more: whoever reads filters may decode them.
  return OWNER_ID.test(
    text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  );
}

function bare(name: string): string {
  return name.replace(/[_.\-[\]\s]/g, '');
}
