/** Names that indicate an account beyond the configured pattern, and values that may be its id; in requests and answers. Pure. */
import { type Json, JsonNumber } from '../rows/json.js';

/** Words for accounts, as part of a pattern. */
export const OWNER = 'user|account|acct|advertiser|client|customer|agenc(?:y|ie)|owner|parent|tenant';
/** Plain names that make the platform act as another account. */
export const ACTS_AS =
  /impersonat|onbehalf|^x?(?:act(?:ing)?|run|login|view)as(?:id)?$|^x?sudo(?:er|id|as)?$/;
/** Short words for accounts count as whole names only: `adv` also begins `advanced`. */
export const SHORT_NAME = /^(?:adv|acc|aid|uid|org|organi[sz]ation|company)s?(?:ids?)?$/;
const ONE = `(?:sub|child|parent|main|master)?(?:${OWNER}|adv)s?`;
const KEY = '(?:ids?|no|nr|numbers?|codes?|keys?|refs?|uuids?|guids?|lists?)';
/** `sub_account_id`, `subaccountid`, `advertiser.no`; short words count by themselves only: `adv_id`. */
const SAYS_ID = new RegExp(`(?:${OWNER})s? ?${KEY}$|(?:^| )(?:adv|acc) ?${KEY}$`);
/** `advertiser`, `campaignOwner`, `subaccounts`; `transparent` is another word. */
const SAYS_ACCOUNT = new RegExp(`(?:^| )${ONE}$`);
/** Counts, prices and switches: `newUser`, `cost_per_client`, `is_parent`. */
const MEASURE =
  /(?:^| )(?:per|is|has|can|non?|nb|num|number|counts?|total|sum|avg|average|mean|max|min|unique|distinct|new|active|returning|costs?|of|with|without|reach)(?: |$)/;
/** A number under a plural is a count, `users: 120`, except for words that are never counted. */
const COUNTED = /s$/;
const NEVER_COUNTED = /^(?:advertiser|account|acct|agencie|tenant)s$/;
/** Members that hold an id below an account name: `{"advertiser": {"value": 2}}`. */
const HOLDS_ID = new RegExp(`^(?:${KEY}|values?|in|eq|equals?|is|include[ds]?|exclude[ds]?|only|selected)$`);
/** Transparent containers: `{"advertisers": {"data": [{"id": 2}]}}`. */
const WRAPS = /^(?:[0-9]+|data|items?|lists?|rows?|results?|records?|entries|edges?|nodes?|elements?|all)$/;

/** Values under a name. id: an account id · ids: account ids in a list or object, a count if one number */
export type AccountNameKind = 'id' | 'ids' | null;

/** Whether a name, in any spelling, indicates an account. Slow: call once per column, not per row. */
export function accountNameKind(name: string): AccountNameKind {
  const words = wordsOf(name);
  const bare = words.replaceAll(' ', '');
  if (SAYS_ID.test(words) || SAYS_ID.test(bare)) return 'id';
  if (/^by /.test(words)) return SAYS_ACCOUNT.test(words) ? 'ids' : null;
  if (MEASURE.test(words)) return null;
  if (!SAYS_ACCOUNT.test(words) && !SAYS_ACCOUNT.test(bare)) return null;
  return COUNTED.test(bare) && !NEVER_COUNTED.test(bare) ? 'ids' : 'id';
}

export function holdsId(name: string): boolean {
  return HOLDS_ID.test(wordsOf(name));
}

/** Whether a name is a transparent container, so that the name above it counts. */
export function wraps(name: string): boolean {
  return WRAPS.test(wordsOf(name));
}

/** `subAccount_ID`, `sub-account.id` → `sub account id`. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join(' ');
}

const WHOLE = /^[+-]?[0-9]+(?:\.0*)?(?:[eE]\+?[0-9]+)?$/;
/** `0` stands for none. */
const NONE = '0';
const ONE_NUMBER = /^\s*[0-9]{1,3}(?:[,. ]?[0-9]{3})*\s*$|^\s*[0-9]+\s*$/;
const SEVERAL = /^[0-9]+(?:[,;|\s]+[0-9]+)*$/;

/**
 * Possible ids in a value: a whole number, or a text with one or several; not `12.50`, `Acme 2` or `true`. Numbers keep their
 * spelling, so `2.0` does not match the `2` of a list.
 */
export function idsIn(value: Json): readonly string[] {
  if (!(value instanceof JsonNumber) && typeof value !== 'string') return [];
  const text = value instanceof JsonNumber ? value.text : value.trim();
  const ids = SEVERAL.test(text) ? text.split(/[,;|\s]+/) : WHOLE.test(text) ? [text] : [];
  return ids.filter((id) => id !== NONE);
}

/** Whether it is one number, also in groups of three digits. */
export function isCount(value: Json): boolean {
  return value instanceof JsonNumber || (typeof value === 'string' && ONE_NUMBER.test(value));
}

/** Names that may be ids themselves, as in `{"advertisers": {"2": {…}}}`; those of a list, `0` to the last, are none. */
export function idNames(names: readonly string[]): readonly string[] {
  const numbers = names.filter((name) => /^[0-9]+$/.test(name));
  return numbers.length === names.length && names.every((name, at) => name === String(at)) ? [] : numbers;
}
