/** Removes the platform token from everything that leaves the gateway. */
import { Transform } from 'node:stream';

/**
 * The spellings of a secret that are found: plain, in base64 (also within the base64 of a longer text, such as
 * `Bearer …`) and in UTF-16; each character of these as it is, as a JSON escape (`\u0070`, `\/`, `\"`, `\\`) or
 * percent-encoded, in any mixture. docs/security.md lists what is not found.
 */
interface Spelling {
  /**
   * @returns the length of the spelling that begins at `start`; 0 when none does; MORE when the bytes end before that
   *   can be told
   */
  lengthAt(bytes: Uint8Array, start: number): number;
}

const MORE = -1;

const [BACKSLASH, PERCENT, SLASH, QUOTE, LOWER_U] = [0x5c, 0x25, 0x2f, 0x22, 0x75];

/** Of a shorter secret so few characters of an encoding are certain that they occur anywhere. */
const LEAST_ENCODED = 8;
/** The first character of base64 that belongs to the secret alone, by the bytes before it in its group of three. */
const FIRST_OWN = [0, 2, 3] as const;

/** The secret; in UTF-16; and in base64 at each offset, without the characters that its neighbours decide. */
function needlesOf(secret: string): Buffer[] {
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
function spellingOf(secret: string): Spelling {
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

/** Whether the escape here is, or may become with more bytes, the first character of a needle. */
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

/** The value of a hexadecimal digit; for another byte, more than any character has. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 0x10000;
}

function mixtureAt(codes: Uint8Array, bytes: Uint8Array, start: number): number {
  // Up to the first escape there is only one reading.
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

/** All lengths of spellings of this character here; MORE among them when the bytes end before that can be told. */
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

/** @returns the length of the whole escape; 0 when it is another character */
function hexLength(code: number, bytes: Uint8Array, start: number, digits: number): number {
  let value = 0;
  for (let at = start; at < start + digits; at++) {
    const byte = bytes[at];
    if (byte === undefined) return MORE;
    value = value * 16 + digitOf(byte);
  }
  return value !== code ? 0 : digits === 2 ? 3 : 6;
}

const REDACTED = '[redacted]';

/** @returns the text without the secrets and without bearer values, cut to `maxBytes` of UTF-8 */
export function scrubText(text: string, secrets: readonly string[], maxBytes: number): string {
  let clean = text;
  for (const secret of secrets.flatMap(spellings)) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.replace(/\bbearer\s+[^\s"',;]+/gi, `Bearer ${REDACTED}`);
  // A rarer spelling: nothing of the text is shown.
  if (secrets.some((secret) => holdsToken(Buffer.from(clean), secret))) clean = REDACTED;
  if (Buffer.byteLength(clean) <= maxBytes) return clean;
  // A cut within a character leaves U+FFFD.
  return Buffer.from(clean)
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

/** Plain, in JSON (also with `/` escaped, as PHP does), and in a URL; longest first. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const all = [secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret)];
  return [...new Set(all)].filter((one) => one !== '').sort((a, b) => b.length - a.length);
}

/**
 * A stream that replaces every occurrence of the secret, in any spelling and also across chunks, by as many other
 * bytes, so that `content-length` stays true.
 */
export function maskStream(secret: string): Transform {
  const spelling = spellingOf(secret);
  // Not part of any spelling, so that masked bytes and those around them cannot be the secret again.
  const fill = secret.includes('*') ? ' ' : '*';
  let tail: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // A copy: the bytes are masked in place, and the chunk belongs to its sender.
      const bytes = Buffer.concat([tail, chunk]);
      // A possible beginning of the secret waits for the next chunk.
      const end = maskSpellings(bytes, spelling, fill);
      tail = bytes.subarray(end);
      done(null, bytes.subarray(0, end));
    },
    flush(done) {
      // The end: a possible beginning was none, but a whole spelling may follow within it.
      for (let at = 0; at < tail.length; ) at = 1 + at + maskSpellings(tail.subarray(at), spelling, fill);
      done(null, tail);
    },
  });
}

/** @returns the offset of a possible beginning of a spelling, or the number of bytes */
function maskSpellings(bytes: Buffer, spelling: Spelling, fill: string): number {
  for (let at = 0; at < bytes.length; ) {
    const length = spelling.lengthAt(bytes, at);
    if (length === MORE) return at;
    if (length > 0) bytes.fill(fill, at, at + length);
    at += Math.max(1, length);
  }
  return bytes.length;
}

/** The search for a token, made once for all answers to it. */
interface Search {
  readonly token: string;
  readonly needles: readonly Buffer[];
  /** Made for the first body with a backslash or a percent sign. */
  escapes?: ReturnType<typeof escapesIn>;
}

let last: Search = { token: '', needles: [] };

function escapesIn(needles: readonly Buffer[]) {
  const either = (forms: readonly string[]) => `(?:${forms.join('|')})`;
  const codes = [...new Set(Buffer.concat(needles))];
  const own = codes.filter(isOwn).map(literal);
  const forms = (code: number) =>
    either([
      literal(code),
      `\\\\u00${hex(code)}`,
      `%${hex(code)}`,
      ...(isOwn(code) ? [`\\\\${literal(code)}`] : []),
    ]);
  return {
    /** An escape of a character of the token: writers hardly ever need one, so the long search is rare. */
    one: new RegExp(
      `(?:\\\\u00|%)${either(codes.map(hex))}${own.length > 0 ? `|\\\\[${own.join('')}]` : ''}`,
    ),
    /** Each spelling, with each character as it is or as an escape. */
    all: new RegExp(either(needles.map((needle) => Array.from(needle, forms).join('')))),
  };
}

/** JSON writes these after a backslash. */
const isOwn = (code: number) => '"\\/'.includes(String.fromCharCode(code));
const digits = (code: number) => code.toString(16).padStart(2, '0');
const literal = (code: number) => `\\x${digits(code)}`;
/** A pattern for the digits in either case. */
const hex = (code: number) => digits(code).replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/**
 * Whether bytes from the platform hold its token, in any spelling.
 * @param token printable ASCII
 */
export function holdsToken(body: Buffer, token: string): boolean {
  if (token === '') return false;
  if (last.token !== token) last = { token, needles: needlesOf(token) };
  if (last.needles.some((needle) => body.includes(needle))) return true;
  if (!body.includes('\\') && !body.includes('%')) return false;
  last.escapes ??= escapesIn(last.needles);
  const text = body.toString('latin1');
  return last.escapes.one.test(text) && last.escapes.all.test(text);
}
