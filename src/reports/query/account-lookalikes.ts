/**
 * Parameters that may name an account but are not checked as one: `client`, `sub_account_id`, a filter that mentions
 * `advertiserId`, ids next to a word such as `advertiser`. The platform may interpret any of them, so limited teams may not
 * send them in calls that are passed through, nor in reports while undeclared parameters are observed. Exception: an object that
 * names only own accounts and contains no other number. Pure.
 */
import { plainName } from '../../lib/near-name.js';
import { isJsonArray, type Json, JsonError, JsonObject, parseJson } from '../rows/json.js';
import { ACTS_AS, OWNER, SHORT_NAME } from './account-words.js';
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
import { isSplit } from './parameters.js';

// Expressions in unknown filter languages: detected by words only.

const BETWEEN = `[\\s_.\\-[\\]"'\\\\]*`;
/** `advertiserId`, `advertiser_id`, `"user.ids"` in a text; `advertiser: 2` and `client in (2)`, too. */
const SPOKEN = new RegExp(
  `(?:${OWNER})s?${BETWEEN}(?:ids?(?![a-z])|[:=<>!~]|(?<=[\\s\\]"'])(?:eq\\b|in\\s*[([]))`,
  'i',
);
/** `user(id: 2)`, `advertiser,eq,2` and `client.in(2)`: their numbers are the accounts. */
const CALLED = new RegExp(
  `(?:${OWNER})s?(?:\\s*[({]\\s*ids?(?![a-z])|\\s*[,;|]\\s*(?:eq|in|is)\\s*[,;|(]|\\.(?:eq|in|is)\\s*\\()`,
  'i',
);
/** An account as a separate word, unlike `clientType` and `user_agent`. */
const WORD = new RegExp(`(?:^|[^a-z])(?:${OWNER})s?(?![a-z]|[_.-][a-z])`, 'i');
/** Only the name of an account field; the value is elsewhere, as in the triple `["advertiser", "=", 2]`. */
const FIELD = new RegExp(`^\\s*(?:[a-z]+[_.])?(?:${OWNER})s?\\s*$`, 'i');

/** Whether a text may name a foreign account. @param fields whether it may be a field, with the value elsewhere */
function mayNameAnother(text: string, fields: boolean, isOwn: (account: string) => boolean): boolean {
  if (SPOKEN.test(text) || (fields && FIELD.test(text))) return true;
  return (CALLED.test(text) || (fields && WORD.test(text))) && !holdsOwnNumbers(text, isOwn);
}

/** In an unknown expression such as `eq(advertiser,2)`, any number may be the account. */
function holdsOwnNumbers(text: string, isOwn: (account: string) => boolean): boolean {
  return (text.match(/\d+/g) ?? []).every(isOwn);
}

/** Decodes one level of percent or JSON escapes, as the platform's filters may. */
function decodeOnce(text: string): string {
  return text.replace(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})/gi, (_, percent?: string, escaped?: string) =>
    String.fromCharCode(Number.parseInt(percent ?? (escaped as string), 16)),
  );
}

export interface LookalikeRules {
  /** Names that are already checked against the team's list. */
  readonly accountFields: readonly string[];
  readonly accountPattern: RegExp;
  /** Names that an operator declares not to name accounts. */
  readonly nonAccounts?: readonly string[];
}

export interface CandidateParameter {
  readonly name: string;
  /** A query value as text, or a body's value. */
  readonly value: Json;
  /** Part of a read, where every text may be an expression; in a write, e.g. a click URL may contain anything. */
  readonly asks: boolean;
  /** An operator declares that it names no account; does not apply to its members. */
  readonly isVouchedFor?: boolean;
}

/** Ids allowed under names that look like an account. */
export interface OwnIds {
  readonly isOwn: (account: string) => boolean;
  /** Whether bare `id` and `ids` may be accounts here. */
  readonly bareIds: boolean;
}

const OWNER_NAME = new RegExp(`${OWNER}|${SHORT_NAME.source}`);
/** Filters by field, unlike a full-text search. */
const BY_FIELD = /filter|where|condition|criteri|expr|having|rule/;
const EXPRESSION = new RegExp(`${BY_FIELD.source}|^(?:query|q|search|scope|params)$`);
/** Column lists and sort orders select no account. */
const COLUMNS =
  /^(?:sort|order|group|sorted|ordered|grouped)(?:by)?$|^(?:fields|columns|dimensions|metrics)$/;
const COLUMN_NAME = /^\s*[+-]?[a-z_]+(?:[\s:]+(?:asc|desc))?\s*$/i;

/** @returns unique names of parameters that look like an account and are not checked as one */
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
    const bareIds = own.bareIds && !isVouchedFor;
    const reading = { texts: asks, fields: false, bareIds, inTexts: 0, owners: 0 };
    if (isVouchedFor) return saysAccount(name, value, reading, look);
    const document = asDocument(name, value);
    return document instanceof JsonObject
      ? holdsLookalike(document, reading, look)
      : isLookalike(name, value, reading, look);
  });
  return [...new Set([...found.map(({ name }) => name), ...chosenBeside(given, open, look)])];
}

interface Look extends LookalikeRules, OwnIds {
  readonly own: OwnValues;
  /** Remaining budget of characters. */
  readonly left: { chars: number };
}

/** Selections: `by=advertiser&values=2`, `group[by]=advertiser&group[ids][]=2`; even if `by` is declared to name no account. */
function chosenBeside(
  given: readonly CandidateParameter[],
  open: readonly CandidateParameter[],
  look: Look,
): string[] {
  const asking = open.filter(({ asks }) => asks);
  const choosing = given.filter(({ name, value, asks }) => asks && choosesByAccount(name, value, true));
  // Once per object, and once for top-level parameters.
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

/** How texts and names in a value are interpreted. */
interface Reading {
  /** Texts may be expressions. */
  readonly texts: boolean;
  /** A text may be the field of an expression. */
  readonly fields: boolean;
  /** `ids` may be accounts. */
  readonly bareIds: boolean;
  /** Depth of JSON in texts. */
  readonly inTexts: number;
  /** Depth of account names. */
  readonly owners: number;
}

function isLookalike(name: string, value: Json, above: Reading, look: Look): boolean {
  // Values are checked elsewhere; here, member names that may be ids: `{"advertiserIds": {"2": 1}}`.
  if (isAccountName(name, look.accountPattern)) return !look.own.numbers(value);
  const plain = plainName(name);
  // Refused even with an own id: it changes the identity at the platform.
  if (ACTS_AS.test(plain)) return true;
  if (above.owners >= MAX_OWNERS && OWNER_NAME.test(plain)) return true;
  // An own id does not allow other numbers next to it: `{"id": 1, "include": [2]}`.
  if (
    OWNER_NAME.test(plain) &&
    // A split by accounts names none if it is only on or off.
    !(isSplit(name) && isSwitch(value)) &&
    !(isChecked(name, value, look) && look.own.numbers(value))
  )
    return true;
  if (above.bareIds && isBareId(name) && !look.own.texts(value)) return true;
  return saysAccount(name, value, above, look);
}

/** Whether a value names an account, whatever its own name means. */
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

/** Whether the account check finds an account, as in `{"advertiser": {"id": 2}}`; in a list, in every item. */
function isChecked(name: string, value: Json, rules: LookalikeRules): boolean {
  if (isJsonArray(value)) return value.length > 0 && value.every((item) => isChecked(name, item, rules));
  return collectAccounts(asDocument(name, value), rules.accountPattern).size > 0;
}

function holdsLookalike(value: Json, reading: Reading, look: Look): boolean {
  if (typeof value === 'string') return reading.texts && namesAccount(value, reading, look);
  if (isJsonArray(value))
    return (
      (reading.texts &&
        value.some((item) => typeof item === 'string' && FIELD.test(item)) &&
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

/** Deeper encoding is refused. */
const MAX_DECODINGS = 8;
/** Deeper JSON in texts is refused. */
const MAX_TEXTS = 2;
/** Deeper nesting of account names is refused. */
const MAX_OWNERS = 4;
/** Limit over all texts of a request, for each decoding. */
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
