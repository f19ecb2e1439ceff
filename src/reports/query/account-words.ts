/**
 * Which names speak of an account though the configured pattern does not know them, and which values may be its id: the
 * one place for both, for requests and for answers. Pure.
 */
import { type Json, JsonNumber } from '../rows/json.js';

/** Words for whom a report may be about, as a part of a pattern. */
export const OWNER = 'user|account|acct|advertiser|client|customer|agenc(?:y|ie)|owner|parent|tenant';
/** Names, plain, of what has the platform act as somebody else. */
export const ACTS_AS =
  /impersonat|onbehalf|^x?(?:act(?:ing)?|run|login|view)as(?:id)?$|^x?sudo(?:er|id|as)?$/;
const ONE = `(?:sub|child|parent|main|master)?(?:${OWNER}|adv)s?`;
const KEY = '(?:ids?|no|nr|numbers?|codes?|keys?|refs?|uuids?|guids?|lists?)';
/** `sub_account_id`, `subaccountid`, `advertiser.no`; short words count by themselves only: `adv_id`. */
const SAYS_ID = new RegExp(`(?:${OWNER})s? ?${KEY}$|(?:^| )(?:adv|acc) ?${KEY}$`);
/** `advertiser`, `campaignOwner`, `subaccounts`; `transparent` is another word. */
const SAYS_ACCOUNT = new RegExp(`(?:^| )${ONE}$`);
/** Counts, prices and switches: `newUser`, `cost_per_client`, `is_parent`. */
const MEASURE =
  /(?:^| )(?:per|is|has|can|non?|nb|num|number|counts?|total|sum|avg|average|mean|max|min|unique|distinct|new|active|returning|costs?|of|with|without|reach)(?: |$)/;
/** One number under a plural counts people, `users: 120`, but for the words that a report counts nobody by. */
const COUNTED = /s$/;
const NEVER_COUNTED = /^(?:advertiser|account|acct|agencie|tenant)s$/;
/** What holds an id below a name that speaks of an account, whatever it is an id of: `{"advertiser": {"value": 2}}`. */
const HOLDS_ID = new RegExp(`^(?:${KEY}|values?|in|eq|equals?|is|include[ds]?|exclude[ds]?|only|selected)$`);
/** Says nothing of what is below it: `{"advertisers": {"data": [{"id": 2}]}}`. */
const WRAPS = /^(?:[0-9]+|data|items?|lists?|rows?|results?|records?|entries|edges?|nodes?|elements?|all)$/;

/**
 * What stands under a name: `id`, the id of an account; `ids`, ids of accounts where it is a list or an object, and a
 * count where it is one number.
 */
export type AccountNameKind = 'id' | 'ids' | null;

/** Whether a name, in whatever spelling, speaks of an account. Made for names of columns: once for each, not by row. */
export function accountNameKind(name: string): AccountNameKind {
  const words = wordsOf(name);
  const bare = words.replaceAll(' ', '');
  if (SAYS_ID.test(words) || SAYS_ID.test(bare)) return 'id';
  if (/^by /.test(words)) return SAYS_ACCOUNT.test(words) ? 'ids' : null;
  if (MEASURE.test(words)) return null;
  if (!SAYS_ACCOUNT.test(words) && !SAYS_ACCOUNT.test(bare)) return null;
  return COUNTED.test(bare) && !NEVER_COUNTED.test(bare) ? 'ids' : 'id';
}

/** Whether a member of an object that speaks of an account holds its id. */
export function holdsId(name: string): boolean {
  return HOLDS_ID.test(wordsOf(name));
}

/** Whether a name leaves open what is below it, so that the name above it counts. */
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
 * The ids that a value may be: a whole number, or a text of one or several; `12.50`, `Acme 2` and `true` are none.
 * A number is given as it was written, so that `2.0` is not the `2` of a list.
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
