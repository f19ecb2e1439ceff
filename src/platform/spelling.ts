/**
 * A secret in every spelling that is searched for. Pure. Each character as it is, as a JSON escape (`\u0070`, `\/`, `\"`,
 * `\\`), or percent-encoded, in any mixture; and the whole as UTF-16, or in base64, whatever stands beside it there, as
 * in that of `Bearer …`. Not searched for: what is encoded twice, compressed, hashed, or cut by other characters.
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

/** Of a shorter secret what its encodings have for certain is so little that it stands anywhere. */
const LEAST_ENCODED = 8;
/** By how many bytes stand before the secret in a group of three: the first character of base64 that is its own alone. */
const FIRST_OWN = [0, 2, 3] as const;

/** The secret in UTF-16, and in base64 at each of its three places: what they have whatever stands before and behind. */
export function encodingsOf(secret: string): Buffer[] {
  if (secret.length < LEAST_ENCODED) return [];
  const base64 = FIRST_OWN.flatMap((first, before) => {
    const bytes = Buffer.from(' '.repeat(before) + secret);
    const own = bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
  // Without the last zero, it is the same whichever byte comes first.
  const wide = Buffer.from(secret, 'utf16le').subarray(0, -1);
  return [wide, ...[...new Set(base64)].map((text) => Buffer.from(text))];
}

/** @param secret printable ASCII, at least one character */
export function spellingOf(secret: string): Spelling {
  const codes = [...Buffer.from(secret)];
  const encodings = encodingsOf(secret);
  const begins = new Uint8Array(256);
  for (const code of [codes[0] ?? 0, BACKSLASH, PERCENT, ...encodings.map((one) => one[0] as number)])
    begins[code] = 1;
  return {
    lengthAt(bytes, start) {
      if (begins[bytes[start] as number] === 0) return 0;
      const lengths = encodings.map((one) => lengthOf(one, bytes, start));
      lengths.push(mixtureAt(codes, bytes, start));
      const longest = Math.max(...lengths);
      return longest > 0 ? longest : Math.min(...lengths);
    },
  };
}

function lengthOf(encoding: Uint8Array, bytes: Uint8Array, start: number): number {
  for (let at = 0; at < encoding.length; at++) {
    if (start + at === bytes.length) return MORE;
    if (bytes[start + at] !== encoding[at]) return 0;
  }
  return encoding.length;
}

function mixtureAt(codes: readonly number[], bytes: Uint8Array, start: number): number {
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
