/** Whether bytes of the platform hold its token, in whatever spelling JSON has for it. */
import { holdsSecret } from './scrub.js';

/** A printable ASCII character written as an escape: no honest writer does that, so the long look is rare. */
const ESCAPED_ASCII = /\\u00[2-7]/i;
/** Characters that JSON may, or must, write after a backslash: a token with one of them has several honest spellings. */
const ESCAPABLE = /["\\/]/;
const ESCAPE = /\\(?:u([0-9a-f]{4})|(.))/gis;

/** @param token printable ASCII */
export function holdsToken(body: Buffer, token: string): boolean {
  const text = body.toString('latin1');
  if (holdsSecret(text, token)) return true;
  const maySpell = ESCAPED_ASCII.test(text) || (ESCAPABLE.test(token) && text.includes('\\'));
  if (!maySpell) return false;
  const plain = text.replace(ESCAPE, (_, code: string | undefined, char: string | undefined) =>
    code === undefined ? (char ?? '') : String.fromCharCode(Number.parseInt(code, 16)),
  );
  return plain.includes(token);
}
