/** Expressions that speak of an account, in filter languages that are not known here: by their words alone. Pure. */
import { OWNER } from './account-words.js';

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
export function isAccountField(text: string): boolean {
  return FIELD.test(text);
}

/**
 * Whether a text may name an account that is not the team's own. What is SPOKEN of counts whatever its value.
 * @param fields whether it may be the field of an expression, whose value stands elsewhere
 */
export function mayNameAnother(text: string, fields: boolean, isOwn: (account: string) => boolean): boolean {
  if (SPOKEN.test(text) || (fields && isAccountField(text))) return true;
  return (CALLED.test(text) || (fields && WORD.test(text))) && !holdsOwnNumbers(text, isOwn);
}

/** In an expression of a language that is not known here, as `eq(advertiser,2)`, any number may be the account. */
function holdsOwnNumbers(text: string, isOwn: (account: string) => boolean): boolean {
  return (text.match(/\d+/g) ?? []).every(isOwn);
}

/** Encoded once more, as in an address or in JSON: whoever reads filters may decode them. */
export function decodeOnce(text: string): string {
  return text.replace(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})/gi, (_, percent?: string, escaped?: string) =>
    String.fromCharCode(Number.parseInt(percent ?? (escaped as string), 16)),
  );
}
