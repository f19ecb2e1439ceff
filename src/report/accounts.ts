/**
 * Which accounts a JSON document names, wherever it names them: in request bodies of teams that are limited to
 * certain advertisers, and in the platform's answers. A miss here would show a team what it may not see, so
 * names are compared loosely, and a value that is no account id is returned rather than dropped.
 */

import { isJsonArray, type Json, JsonNumber, JsonObject } from './json.js';

/** The shipped pattern, to be matched against a name in lower case without separators; see `isAccountName`. */
export const ACCOUNT_PATTERN_SOURCE = '^(?:user|account|advertiser|client|customer|agency|owner|parent)ids?$';

const LONGEST_OWNER = 100;

/**
 * Whether a member or parameter name is one of an account: `advertiserId`, `advertiser_id` and `Advertiser.ID`
 * are one name.
 *
 * @param pattern is matched against the name in lower case without `_ . - [ ]`, white space and control characters.
 */
export function isAccountName(name: string, pattern: RegExp): boolean {
  return bareName(name).search(pattern) >= 0;
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/[_.\-[\]\s\p{Cc}]/gu, '');
}

/**
 * The accounts a document names, in the order in which they stand.
 *
 * A value counts when its member has an account's name, also one made of two members, as in
 * `{"advertiser": {"id": 2}}` and `{"advertisers": [{"id": 2}]}`; below such a member every scalar counts.
 * Null and empty texts name nobody. A string is trimmed and a number is given as it was written, so what is not
 * `[1-9][0-9]*` is not an id, and is the caller's to refuse.
 */
export function collectAccounts(document: Json, pattern: RegExp): Set<string> {
  const walk: Walk = { pattern, accounts: new Set(), known: new Map() };
  visit(walk, document, '');
  return walk.accounts;
}

/**
 * A query's parameter as a body would have it: `advertisers[0][id]` with a value is `{"advertisers": {"0": {"id": …}}}`.
 */
export function asDocument(name: string, value: Json): Json {
  const parts = name.split(/[[\]]+/).filter((part) => part !== '');
  return parts.reduceRight<Json>((below, part) => new JsonObject([part], [below]), value);
}

interface Walk {
  readonly pattern: RegExp;
  readonly accounts: Set<string>;
  /** What was found for each owner and list of names: rows share theirs. */
  readonly known: Map<string, Map<readonly string[], Verdict>>;
}

interface Verdict {
  readonly bare: readonly string[];
  readonly isAccount: readonly boolean[];
}

/** @param owner bare name of the member that holds the value */
function visit(walk: Walk, value: Json, owner: string): void {
  if (isJsonArray(value)) {
    for (const item of value) visit(walk, item, owner);
  } else if (value instanceof JsonObject) {
    const { bare, isAccount } = verdictOn(walk, value.names, owner);
    for (let at = 0; at < value.values.length; at += 1) {
      const member = value.values[at];
      if (member === undefined) continue;
      if (isAccount[at]) take(walk.accounts, member);
      else if (typeof member === 'object') visit(walk, member, ownerBelow(owner, bare[at] as string));
    }
  }
}

/**
 * The owner of what is below a member. Lists may be written as objects with numbers for names: `{"0": …}`. A long
 * name is no entity's; put before every name below it, it would cost time beyond the document's length.
 */
function ownerBelow(owner: string, bare: string): string {
  if (/^[0-9]+$/.test(bare)) return owner;
  return bare.length > LONGEST_OWNER ? '' : bare;
}

function verdictOn(walk: Walk, names: readonly string[], owner: string): Verdict {
  const known = walk.known.get(owner) ?? new Map<readonly string[], Verdict>();
  const verdict = known.get(names) ?? judge(names, owner, walk.pattern);
  walk.known.set(owner, known.set(names, verdict));
  return verdict;
}

function judge(names: readonly string[], owner: string, pattern: RegExp): Verdict {
  const bare = names.map(bareName);
  const owners = ['', owner, owner.replace(/s$/, ''), owner.replace(/ies$/, 'y')];
  return {
    bare,
    isAccount: bare.map((name) => owners.some((prefix) => `${prefix}${name}`.search(pattern) >= 0)),
  };
}

/** Adds every scalar in or below a value. */
function take(accounts: Set<string>, value: Json): void {
  if (value === null) return;
  if (isJsonArray(value)) for (const item of value) take(accounts, item);
  else if (value instanceof JsonObject) for (const member of value.values) take(accounts, member);
  else {
    const text = value instanceof JsonNumber ? value.text : String(value).trim();
    if (text !== '') accounts.add(text);
  }
}
