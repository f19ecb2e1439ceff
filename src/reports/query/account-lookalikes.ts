/**
 * Parameters that look as if they named an account, in words that nobody checks: `client`, `sub_account_id`, a filter
 * that speaks of `advertiserId`, ids beside a word that says they are advertisers'. The platform may read any of them, so
 * a limited team may send none. One passes: an object that names accounts of its own and holds no other number. Pure.
 */
import { isJsonArray, type Json, JsonError, JsonObject, parseJson } from '../rows/json.js';
import { ACTS_AS, OWNER } from './account-words.js';
import { asDocument, collectAccounts, isAccountName } from './accounts.js';
import {
  choosesByAccount,
  foreignChoices,
  isBareId,
  isOtherEntity,
  isSwitch,
  type OwnValues,
  ownValues,
} from './chosen-ids.js';
import { plainName } from './parameters.js';

// Expressions that speak of an account, in filter languages that are not known here: by their words alone. Pure.

const BETWEEN = `[\\s_.\\-[\\]"'\\\\]*`;
/** `advertiserId`, `advertiser_id`, `"user.ids"` in a text; `advertiser: 2` and `client in (2)`, too. */
const SPOKEN = new RegExp(
  `(?:${OWNER})s?${BETWEEN}(?:ids?(?![a-z])|[:=<>!~]|(?<=[\\s\\]"'])(?:eq\\b|in\\s*[([]))`,
  'i',
);
/** `user(id: 2)`, `advertiser,eq,2` and `client.in(2)`: of whom, their numbers tell. */
const CALLED = new RegExp(
  `(?:${OWNER})s?(?:\\s*[({]\\s*ids?(?![a-z])|\\s*[,;|]\\s*(?:eq|in|is)\\s*[,;|(]|\\.(?:eq|in|is)\\s*\\()`,
  'i',
);
/** An account as a word of its own, which `clientType` and `user_agent` are not. */
const WORD = new RegExp(`(?:^|[^a-z])(?:${OWNER})s?(?![a-z]|[_.-][a-z])`, 'i');
/** The name of an account field and nothing else, where one part of an expression says the field and another the value. */
const FIELD = new RegExp(`^\\s*(?:[a-z]+[_.])?(?:${OWNER})s?\\s*$`, 'i');

/** The first part of a triple, `["advertiser", "=", 2]`. */
function isAccountField(text: string): boolean {
  return FIELD.test(text);
}

/**
 * Whether a text may name an account that is not the team's own. What is SPOKEN of counts whatever its value.
 * @param fields whether it may be the field of an expression, whose value stands elsewhere
 */
function mayNameAnother(text: string, fields: boolean, isOwn: (account: string) => boolean): boolean {
  if (SPOKEN.test(text) || (fields && isAccountField(text))) return true;
  return (CALLED.test(text) || (fields && WORD.test(text))) && !holdsOwnNumbers(text, isOwn);
}

/** In an expression of a language that is not known here, as `eq(advertiser,2)`, any number may be the account. */
function holdsOwnNumbers(text: string, isOwn: (account: string) => boolean): boolean {
  return (text.match(/\d+/g) ?? []).every(isOwn);
}

/** Encoded once more, as in an address or in JSON: whoever reads filters may decode them. */
function decodeOnce(text: string): string {
  return text.replace(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})/gi, (_, percent?: string, escaped?: string) =>
    String.fromCharCode(Number.parseInt(percent ?? (escaped as string), 16)),
  );
}

export interface LookalikeRules {
  /** Names that are checked against the team's list already. */
  readonly accountFields: readonly string[];
  readonly accountPattern: RegExp;
  /** Names an operator vouches for: they name no account. */
  readonly nonAccounts?: readonly string[];
}

export interface CandidateParameter {
  readonly name: string;
  /** A query value as text, or a body's value. */
  readonly value: Json;
  /**
   * Whether it is part of a question, whose texts may all be expressions; of what is to be written only what is named
   * like one is: an address to click may hold anything.
   */
  readonly asks: boolean;
  /** Whether an operator says that it names no account: of the parameter itself, not of members inside of it. */
  readonly isVouchedFor?: boolean;
}

/** Which ids may stand under names that look like an account. */
export interface OwnIds {
  readonly isOwn: (account: string) => boolean;
  /** Whether `id` and `ids`, which do not say of what, may be those of accounts here. */
  readonly bareIds: boolean;
}

/** Short ones count as whole names only: `adv` begins `advanced`, and `acc` begins `accuracy`. */
const OWNER_NAME = new RegExp(`${OWNER}|^(?:adv|acc|aid|uid|org|organi[sz]ation|company)s?(?:ids?)?$`);
/** A split by accounts names none, as long as it says no more than on or off. */
const SPLIT = /^by[A-Z]/;
/** What is filtered, rather than looked for by a word. */
const BY_FIELD = /filter|where|condition|criteri|expr|having|rule/;
const EXPRESSION = new RegExp(`${BY_FIELD.source}|^(?:query|q|search|scope|params)$`);
/** Which columns, and in which order: names alone select no account. */
const COLUMNS =
  /^(?:sort|order|group|sorted|ordered|grouped)(?:by)?$|^(?:fields|columns|dimensions|metrics)$/;
const COLUMN_NAME = /^\s*[+-]?[a-z_]+(?:[\s:]+(?:asc|desc))?\s*$/i;

/** @returns the names of those that look like an account and are not checked as one, each once */
export function accountLookalikes(
  given: readonly CandidateParameter[],
  rules: LookalikeRules,
  own: OwnIds,
): string[] {
  const open = given.filter(
    ({ name }) =>
      !rules.nonAccounts?.includes(name.replace(/\[\]$/, '')) && !rules.accountFields.includes(name),
  );
  const look = { ...rules, ...own, own: ownValues(own.isOwn), left: { chars: MAX_CHARS } };
  const found = open.filter(({ name, value, asks, isVouchedFor }) => {
    if (isVouchedFor)
      return saysAccount(
        name,
        value,
        { texts: asks, fields: false, bareIds: false, inTexts: 0, owners: 0 },
        look,
      );
    const document = asDocument(name, value);
    const reading = { texts: asks, fields: false, bareIds: own.bareIds, inTexts: 0, owners: 0 };
    return document instanceof JsonObject
      ? holdsLookalike(document, reading, look)
      : isLookalike(name, value, reading, look);
  });
  return [...new Set([...found.map(({ name }) => name), ...chosenBeside(given, open, look)])];
}

interface Look extends LookalikeRules, OwnIds {
  readonly own: OwnValues;
  /** Characters of texts that may still be read. */
  readonly left: { chars: number };
}

/**
 * What is chosen by `by=advertiser&values=2`, or by `group[by]=advertiser&group[ids][]=2`. That `by` itself names no
 * account, as an operator may say, changes nothing of what is beside it.
 */
function chosenBeside(
  given: readonly CandidateParameter[],
  open: readonly CandidateParameter[],
  look: Look,
): string[] {
  const asking = open.filter(({ asks }) => asks);
  const choosing = given.filter(({ name, value, asks }) => asks && choosesByAccount(name, value, true));
  // Once for each object, and once for what stands in none: many may say what is chosen by.
  const objects = new Set(choosing.map(({ name }) => objectOf(name)));
  const names = new Set(choosing.map(({ name }) => name));
  const listed = asking.filter(({ name, value }) => names.has(name) && !look.own.numbers(value));
  const beside = [...objects].flatMap((object) =>
    object === null
      ? foreignChoices(asking, look.own, false)
      : foreignChoices(
          asking.filter(({ name }) => name.startsWith(`${object}[`)),
          look.own,
          true,
        ),
  );
  // `x[]=advertiser&x[]=2` is one list.
  return [...listed.map(({ name }) => name), ...beside];
}

/** `group` of `group[by][]`; null for `by` and `by[]`. */
function objectOf(name: string): string | null {
  const cut = name.replace(/\[\]$/, '').indexOf('[');
  return cut < 0 ? null : name.slice(0, cut);
}

/** What is made of the texts and names in a value. */
interface Reading {
  /** They may be expressions. */
  readonly texts: boolean;
  /** One of them may be the field of an expression. */
  readonly fields: boolean;
  /** `ids` may be those of accounts. */
  readonly bareIds: boolean;
  /** How many texts it stands in. */
  readonly inTexts: number;
  /** Below how many names of accounts it stands. */
  readonly owners: number;
}

function isLookalike(name: string, value: Json, above: Reading, look: Look): boolean {
  // Its values are checked elsewhere; here, the names in it that may be ids: `{"advertiserIds": {"2": 1}}`.
  if (isAccountName(name, look.accountPattern)) return !look.own.numbers(value);
  const plain = plainName(name);
  // Even by an own id: what is seen then is what somebody else may see.
  if (ACTS_AS.test(plain)) return true;
  if (above.owners >= MAX_OWNERS && OWNER_NAME.test(plain)) return true;
  // The own id beside it makes no other number one's own: `{"id": 1, "include": [2]}`.
  if (
    OWNER_NAME.test(plain) &&
    !(SPLIT.test(name) && isSwitch(value)) &&
    !(isChecked(name, value, look) && look.own.numbers(value))
  )
    return true;
  if (above.bareIds && isBareId(name) && !look.own.texts(value)) return true;
  return saysAccount(name, value, above, look);
}

/** What a value says, whatever its name is taken for: that the platform reads `filter` tells nothing of what is filtered. */
function saysAccount(name: string, value: Json, above: Reading, look: Look): boolean {
  const plain = plainName(name);
  if (COLUMNS.test(plain) && isColumns(value)) return false;
  const reading = {
    texts: above.texts || EXPRESSION.test(plain),
    fields: above.fields || BY_FIELD.test(plain),
    bareIds: above.bareIds && !isOtherEntity(name),
    inTexts: above.inTexts,
    owners: above.owners + (OWNER_NAME.test(plain) ? 1 : 0),
  };
  return holdsLookalike(value, reading, look);
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

function holdsLookalike(value: Json, reading: Reading, look: Look): boolean {
  if (typeof value === 'string') return reading.texts && namesAccount(value, reading, look);
  if (isJsonArray(value))
    return (
      (reading.texts &&
        value.some((item) => typeof item === 'string' && isAccountField(item)) &&
        !look.own.numbers(value)) ||
      value.some((item) => holdsLookalike(item, reading, look))
    );
  if (!(value instanceof JsonObject)) return false;
  const members = value.names
    .map((name, index) => ({ name, value: value.values[index] as Json }))
    .filter(({ name }) => !look.nonAccounts?.includes(name));
  if (
    members.length > 1 &&
    members.some((one) => choosesByAccount(one.name, one.value, reading.texts)) &&
    foreignChoices(members, look.own, true).length > 0
  )
    return true;
  return members.some((one) => isLookalike(one.name, one.value, reading, look));
}

/** A text that is encoded more often is nobody's honest filter. */
const MAX_DECODINGS = 8;
/** Nor is JSON in a text, in JSON in a text, in another; each could be encoded in many ways. */
const MAX_TEXTS = 2;
/** Nor are accounts in accounts, many times over. */
const MAX_OWNERS = 4;
/** All texts of a request together, each time they are decoded: what is refused for it is no question of anybody's. */
const MAX_CHARS = 2_097_152;

function namesAccount(text: string, reading: Reading, look: Look): boolean {
  let plain = text;
  for (let times = 0; times < MAX_DECODINGS; times++) {
    look.left.chars -= plain.length;
    if (look.left.chars < 0) return true;
    if (mayNameAnother(plain, reading.fields, look.isOwn)) return true;
    const inner = jsonIn(plain);
    if (inner !== null && reading.inTexts >= MAX_TEXTS) return true;
    if (inner !== null && holdsLookalike(inner, { ...reading, inTexts: reading.inTexts + 1 }, look))
      return true;
    const decoded = decodeOnce(plain);
    if (decoded === plain) return false;
    plain = decoded;
  }
  return true;
}

/** The document in a text; null when it is none. */
function jsonIn(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return parseJson(text.trim());
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
