/** Keeps the platform's token out of everything that leaves the gateway. */
import { Transform } from 'node:stream';
import { MORE, needlesOf, type Spelling, spellingOf } from './spelling.js';

const REDACTED = '[redacted]';

/** @returns the text without any of the secrets, without bearer values, cut to `maxBytes` of UTF-8. */
export function scrubText(text: string, secrets: readonly string[], maxBytes: number): string {
  let clean = text;
  for (const secret of secrets.flatMap(spellings)) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.replace(/\bbearer\s+[^\s"',;]+/gi, `Bearer ${REDACTED}`);
  // In a spelling that is rarer: nothing of it is shown.
  if (secrets.some((secret) => holdsToken(Buffer.from(clean), secret))) clean = REDACTED;
  if (Buffer.byteLength(clean) <= maxBytes) return clean;
  // A cut inside of a character shows as U+FFFD; drop it.
  return Buffer.from(clean)
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

/** As it is, as JSON writes it (with `/` escaped, too, as PHP does), and as it stands in a URL; longest first. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const all = [secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret)];
  return [...new Set(all)].filter((one) => one !== '').sort((a, b) => b.length - a.length);
}

/**
 * A stream that replaces every occurrence of the secret, in the spellings of spelling.ts, by as many other bytes,
 * also across chunks: the length of the whole does not change, so `content-length` stays true.
 */
export function maskStream(secret: string): Transform {
  const spelling = spellingOf(secret);
  // Not part of any spelling, so that what was masked and what follows cannot be the secret once more.
  const fill = secret.includes('*') ? ' ' : '*';
  let tail: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // A copy: the bytes are masked in place, and the chunk belongs to whoever sent it.
      const bytes = Buffer.concat([tail, chunk]);
      // What could be the beginning of the secret waits for the next chunk.
      const end = maskSpellings(bytes, spelling, fill);
      tail = bytes.subarray(end);
      done(null, bytes.subarray(0, end));
    },
    flush(done) {
      // No more comes: what may have begun a spelling began none, and may hold a whole one further on.
      for (let at = 0; at < tail.length; ) at = 1 + at + maskSpellings(tail.subarray(at), spelling, fill);
      done(null, tail);
    },
  });
}

/** @returns the offset from which on the bytes may begin a spelling, or their length */
function maskSpellings(bytes: Buffer, spelling: Spelling, fill: string): number {
  for (let at = 0; at < bytes.length; ) {
    const length = spelling.lengthAt(bytes, at);
    if (length === MORE) return at;
    if (length > 0) bytes.fill(fill, at, at + length);
    at += Math.max(1, length);
  }
  return bytes.length;
}

/** What is searched for of a token: made once for all answers that it brings. */
interface Search {
  readonly token: string;
  readonly needles: readonly Buffer[];
  escapes?: Escapes;
}

/** Made when a body with a backslash or a percent sign comes. */
interface Escapes {
  /** An escape of a character of a spelling: an honest writer needs few of them, so the long search is rare. */
  readonly one: RegExp;
  /** Each spelling, with each character as it is or as an escape. */
  readonly all: RegExp;
}

let last: Search = { token: '', needles: [] };

function searchOf(token: string): Search {
  if (last.token !== token) last = { token, needles: needlesOf(token) };
  return last;
}

function escapesIn(needles: readonly Buffer[]): Escapes {
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
    one: new RegExp(
      `(?:\\\\u00|%)${either(codes.map(hex))}${own.length > 0 ? `|\\\\[${own.join('')}]` : ''}`,
    ),
    all: new RegExp(either(needles.map((needle) => Array.from(needle, forms).join('')))),
  };
}

/** JSON may, or must, write these after a backslash. */
const isOwn = (code: number) => '"\\/'.includes(String.fromCharCode(code));
const digits = (code: number) => code.toString(16).padStart(2, '0');
const literal = (code: number) => `\\x${digits(code)}`;
/** A pattern of the digits in either case. */
const hex = (code: number) => digits(code).replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/**
 * Whether bytes of the platform hold its token, in a spelling of spelling.ts.
 * @param token printable ASCII
 */
export function holdsToken(body: Buffer, token: string): boolean {
  if (token === '') return false;
  const search = searchOf(token);
  if (search.needles.some((needle) => body.includes(needle))) return true;
  if (!body.includes('\\') && !body.includes('%')) return false;
  search.escapes ??= escapesIn(search.needles);
  const text = body.toString('latin1');
  return search.escapes.one.test(text) && search.escapes.all.test(text);
}
