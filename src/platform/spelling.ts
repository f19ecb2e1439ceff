/**
 * A secret in every spelling that a reader of JSON, PHP or URLs takes for it: each character as it is, as a JSON
 * escape (`\u0070`, `\/`, `\"`, `\\`), or percent-encoded, in any mixture. Pure.
 */

export interface Spelling {
  /**
   * @returns the length of the spelling that begins at `start`; 0 when none does; MORE when the bytes end inside of
   *   what may be one
   */
  lengthAt(bytes: Uint8Array, start: number): number;
}

export const MORE = -1;

const [BACKSLASH, PERCENT, SLASH, QUOTE, LOWER_U] = [0x5c, 0x25, 0x2f, 0x22, 0x75];

/** @param secret printable ASCII, at least one character */
export function spellingOf(secret: string): Spelling {
  const codes = [...Buffer.from(secret)];
  const [first = 0] = codes;
  return {
    lengthAt(bytes, start) {
      const begin = bytes[start];
      if (begin !== first && begin !== BACKSLASH && begin !== PERCENT) return 0;
      // Where a character can be read in two ways (`%` and `%25`), both are followed.
      let ends: readonly number[] = [start];
      let open = false;
      for (const code of codes) {
        const next = new Set<number>();
        for (const at of ends) {
          for (const length of lengthsOf(code, bytes, at)) {
            if (length === MORE) open = true;
            else next.add(at + length);
          }
        }
        if (next.size === 0) return open ? MORE : 0;
        ends = [...next];
      }
      return Math.max(...ends) - start;
    },
  };
}

/** Every length in which this character stands here; MORE among them when it may, and the bytes end. */
function lengthsOf(code: number, bytes: Uint8Array, at: number): number[] {
  if (at >= bytes.length) return [MORE];
  const lengths = bytes[at] === code ? [1] : [];
  if (bytes[at] === PERCENT) lengths.push(hexLength(code, bytes, at + 1, 2));
  if (bytes[at] === BACKSLASH) {
    const escaped = bytes[at + 1];
    if (escaped === undefined) lengths.push(MORE);
    else if (escaped === code && (code === BACKSLASH || code === SLASH || code === QUOTE)) lengths.push(2);
    else if (escaped === LOWER_U) lengths.push(hexLength(code, bytes, at + 2, 4));
  }
  return lengths.filter((length) => length !== 0);
}

/** @returns the length with what stands before the digits, 0 when they say something else */
function hexLength(code: number, bytes: Uint8Array, start: number, digits: number): number {
  const wanted = code.toString(16).padStart(digits, '0');
  for (let index = 0; index < digits; index++) {
    const byte = bytes[start + index];
    if (byte === undefined) return MORE;
    if (String.fromCharCode(byte).toLowerCase() !== wanted[index]) return 0;
  }
  return digits === 2 ? 3 : 6;
}
