/**
 * Accounts named anywhere in a JSON document: in request bodies of limited teams, and in platform answers. A miss would expose
 * foreign data, so names are compared loosely, and values that are no account id are returned, not dropped.
 */

import { plainName } from '../../lib/near-name.js';
import { isJsonArray, type Json, JsonError, JsonNumber, JsonObject, parseJson } from '../rows/json.js';
import {
  type AccountNameKind,
  accountNameKind,
  holdsId,
  idNames,
  idsIn,
  isCount,
  OWNER,
  wraps,
} from './account-words.js';

const LONGEST_OWNER = 100;

/** Whether a name is one of an account. @param pattern for plain names: `advertiserId`, `Advertiser.ID` are `advertiserid` */
export function isAccountName(name: string, pattern: RegExp): boolean {
  return plainName(name).search(pattern) >= 0;
}

/**
 * Accounts named in a document, in order: every scalar below a member with an account name, also across two members, as in
 * `{"advertiser": {"id": 2}}`. Ignores null and empty texts. Strings are trimmed, numbers keep their spelling; the caller must
 * refuse values other than `[1-9][0-9]*`.
 */
export function collectAccounts(document: Json, pattern: RegExp): Set<string> {
  return collect(document, pattern, null);
}

/**
 * Accounts in an answer: {@link collectAccounts}, and possible ids under other account-like names: `advertiser: 2`,
 * `advertisers: [2]`, `sub_account_id`, `account_no`; also in JSON inside a text.
 * @param nonAccounts names that an operator declares not to name accounts
 */
export function accountsShown(
  document: Json,
  pattern: RegExp,
  nonAccounts: readonly string[] = NONE,
): Set<string> {
  return collect(document, pattern, nonAccounts);
}

const NONE: readonly string[] = [];
/** Of one list of names; documents choose them. */
const MAX_OWNERS = 16;

type Verdicts = Pick<Collector, 'pattern' | 'nonAccounts' | 'known'>;
/** Of answers, which share lists of names. A process has one pattern. */
let latest: Verdicts | null = null;

function collect(document: Json, pattern: RegExp, nonAccounts: readonly string[] | null): Set<string> {
  const isLatest = latest?.pattern === pattern && latest.nonAccounts === nonAccounts;
  const verdicts = isLatest && latest !== null ? latest : { pattern, nonAccounts, known: new WeakMap() };
  if (nonAccounts !== null) latest = verdicts;
  const accounts = new Set<string>();
  visit({ ...verdicts, accounts, texts: 0 }, document, '');
  return accounts;
}

/** A query parameter as a JSON document: `advertisers[0][id]` is `{"advertisers": {"0": {"id": …}}}`. */
export function asDocument(name: string, value: Json): Json {
  const parts = name.split(/[[\]]+/).filter((part) => part !== '');
  return parts.reduceRight<Json>((below, part) => new JsonObject([part], [below]), value);
}

interface Collector {
  readonly pattern: RegExp;
  /** Null: only the pattern counts. */
  readonly nonAccounts: readonly string[] | null;
  readonly accounts: Set<string>;
  /** Memoized by list of names, which rows share, and owner. */
  readonly known: WeakMap<readonly string[], Map<string, Verdict>>;
  /** Depth of texts. */
  texts: number;
}

/** every: every scalar below names an account. */
type Reading = 'every' | AccountNameKind;

interface Verdict {
  /** Names that are ids of accounts. */
  readonly ids: readonly string[];
  readonly readings: readonly Reading[];
  readonly ownersBelow: readonly string[];
}

/** @param owner name of the member that holds the value */
function visit(collector: Collector, value: Json, owner: string): void {
  if (isJsonArray(value)) {
    for (const item of value) visit(collector, item, owner);
  } else if (value instanceof JsonObject) {
    const { readings, ownersBelow } = verdictOn(collector, value.names, owner);
    for (let at = 0; at < value.values.length; at += 1) {
      const member = value.values[at];
      const reading = readings[at];
      if (member === undefined || member === null) continue;
      if (reading === 'every') take(collector.accounts, member);
      else if (reading !== null && reading !== undefined)
        takeIds(collector, member, ownersBelow[at] as string, reading);
      else if (member instanceof JsonNumber) continue;
      else if (typeof member === 'object') visit(collector, member, ownersBelow[at] as string);
      else if (typeof member === 'string') visitText(collector, member, ownersBelow[at] as string, false);
    }
  } else if (typeof value === 'string') visitText(collector, value, owner, false);
}

/** Collects possible ids below an account name; objects by their own members. */
function takeIds(collector: Collector, value: Json, owner: string, reading: AccountNameKind): void {
  if (isJsonArray(value)) for (const item of value) takeIds(collector, item, owner, 'id');
  else if (value instanceof JsonObject) visit(collector, value, owner);
  else {
    if (reading === 'id' || !isCount(value)) for (const id of idsIn(value)) collector.accounts.add(id);
    if (typeof value === 'string') visitText(collector, value, owner, true);
  }
}

const OPENING = /^\s*[[{]\s*["{[\d]/;
const OF_AN_ACCOUNT = new RegExp(`${OWNER}|adv|acc|\\\\u`, 'i');
/** Deeper texts are ignored. */
const MAX_TEXTS = 8;

/** JSON inside a text. The first character excludes nearly all texts of an answer. @param isOwned below an account name */
function visitText(collector: Collector, text: string, owner: string, isOwned: boolean): void {
  const first = text.charCodeAt(0);
  if (first !== 0x7b && first !== 0x5b && !(first <= 0x20)) return;
  if (collector.nonAccounts === null || collector.texts >= MAX_TEXTS || !OPENING.test(text)) return;
  if (!isOwned && !OF_AN_ACCOUNT.test(text)) return;
  collector.texts += 1;
  try {
    const value = parseJson(text.trim());
    if (isOwned) takeIds(collector, value, owner, 'id');
    else visit(collector, value, owner);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  collector.texts -= 1;
}

function verdictOn(collector: Collector, names: readonly string[], owner: string): Verdict {
  const known = collector.known.get(names) ?? new Map<string, Verdict>();
  let verdict = known.get(owner);
  if (verdict === undefined) {
    verdict = judge(collector, names, owner);
    if (known.size >= MAX_OWNERS) known.clear();
    collector.known.set(names, known.set(owner, verdict));
  }
  for (const id of verdict.ids) collector.accounts.add(id);
  return verdict;
}

function judge({ pattern, nonAccounts }: Collector, names: readonly string[], owner: string): Verdict {
  const above = plainName(owner);
  const owners = ['', above, above.replace(/s$/, ''), above.replace(/ies$/, 'y')];
  const isOwned = nonAccounts !== null && owner !== '' && accountNameKind(owner) !== null;
  const readingOf = (name: string): Reading => {
    const bare = plainName(name);
    if (owners.some((prefix) => `${prefix}${bare}`.search(pattern) >= 0)) return 'every';
    if (nonAccounts === null || nonAccounts.includes(name)) return null;
    return isOwned && holdsId(name) ? 'id' : accountNameKind(name);
  };
  return {
    ids: isOwned ? idNames(names) : NONE,
    readings: names.map(readingOf),
    ownersBelow: names.map((name) => ownerBelow(owner, name, isOwned)),
  };
}

/** The owner of values below a member. Lists may be objects: `{"0": …}`. Long names would make the check superlinear. */
function ownerBelow(owner: string, name: string, isOwned: boolean): string {
  if (/^[0-9]+$/.test(plainName(name)) || (isOwned && (wraps(name) || holdsId(name)))) return owner;
  return name.length > LONGEST_OWNER ? '' : name;
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
