/** The short code by which a person recognises, in the browser, the command that asks to act as him. */
import { hash } from 'node:crypto';

/** Without vowels, so that it is no word. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/** @param challenge of the command's own verifier (RFC 7636). @returns e.g. `KD-47` */
export function commandCode(challenge: string): string {
  const [a = 0, b = 0, c = 0] = hash('sha256', `code of ${challenge}`, 'buffer');
  const letter = (byte: number) => LETTERS[byte % LETTERS.length];
  return `${letter(a)}${letter(b)}-${String(c % 100).padStart(2, '0')}`;
}

/** What the verifier must have been (RFC 7636, S256). */
export function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}
