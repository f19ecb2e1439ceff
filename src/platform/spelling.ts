/**
 * The spellings of a secret that are searched for. Pure. The secret as it is, in base64 (also within the base64 of a longer
 * text, such as `Bearer …`) and in UTF-16; each character of these as it is, as a JSON escape (`\u0070`, `\/`, `\"`,
 * `\\`) or percent-encoded, in any mixture. docs/security.md lists what is not searched for.
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

/**
 * The secret; in UTF-16; and in base64 at each of its three places, without the characters that what stands before and
 * behind decides.
 */
export function needlesOf(secret: string): Buffer[] {
  if (secret.length < LEAST_ENCODED) return [Buffer.from(secret)];
  const base64 = FIRST_OWN.flatMap((first, before) => {
    const bytes = Buffer.from(' '.repeat(before) + secret);
    const own = bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
  // Without the last zero, it is the same whichever byte comes first.
  const wide = Buffer.from(secret, 'utf16le').subarray(0, -1);
  return [wide, ...[...new Set([secret, ...base64])].map((text) => Buffer.from(text))];
}

/** @param secret printable ASCII, at least one character */
export function spellingOf(secret: string): Spelling {
  const needles = needlesOf(secret);
  const begins = new Uint8Array(256);
  for (const [first] of needles) begins[first as number] = 1;
  return {
    lengthAt(bytes, start) {
      const byte = bytes[start] as number;
      if (begins[byte] === 0 && !(isEscape(byte) && mayBegin(begins, bytes, start))) return 0;
      let longest = 0;
      let open = false;
      for (const needle of needles) {
        const length = mixtureAt(needle, bytes, start);
        if (length === MORE) open = true;
        else longest = Math.max(longest, length);
      }
      return longest === 0 && open ? MORE : longest;
    },
  };
}

const isEscape = (byte: number | undefined) => byte === BACKSLASH || byte === PERCENT;

/** Whether the escape here, or what it may become with more bytes, is one of the characters. */
function mayBegin(begins: Uint8Array, bytes: Uint8Array, start: number): boolean {
  const next = bytes[start + 1];
  const [from, to] =
    bytes[start] === PERCENT ? [start + 1, start + 3] : next === LOWER_U ? [start + 2, start + 6] : [0, 0];
  if (to > bytes.length || next === undefined) return true;
  if (to === 0) return begins[next] === 1;
  let code = 0;
  for (let at = from; at < to; at++) code = code * 16 + digitOf(bytes[at] as number);
  return begins[code] === 1;
}

/** The value of a hexadecimal digit; of another byte, more than any character has. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 0x10000;
}

function mixtureAt(codes: Uint8Array, bytes: Uint8Array, start: number): number {
  // Up to the first escape there is one reading only.
  let plain = 0;
  while (plain < codes.length && start + plain < bytes.length && !isEscape(bytes[start + plain])) {
    if (bytes[start + plain] !== codes[plain]) return 0;
    plain++;
  }
  // Where a character can be read in two ways (`%` and `%25`), both are followed.
  let ends: readonly number[] = [start + plain];
  let open = false;
  for (const code of codes.subarray(plain)) {
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
  let value = 0;
  for (let at = start; at < start + digits; at++) {
    const byte = bytes[at];
    if (byte === undefined) return MORE;
    value = value * 16 + digitOf(byte);
  }
  return value !== code ? 0 : digits === 2 ? 3 : 6;
}
