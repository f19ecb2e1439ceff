/** Keeps the platform's token out of everything that leaves the gateway. */
import { Transform } from 'node:stream';
import { MORE, type Spelling, spellingOf } from './spelling.js';

const REDACTED = '[redacted]';

/** @returns the text without any of the secrets, without bearer values, cut to `maxBytes` of UTF-8. */
export function scrubText(text: string, secrets: readonly string[], maxBytes: number): string {
  let clean = text;
  for (const secret of secrets.flatMap(spellings)) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.replace(/\bbearer\s+[^\s"',;]+/gi, `Bearer ${REDACTED}`);
  if (Buffer.byteLength(clean) <= maxBytes) return clean;
  // A cut inside of a character shows as U+FFFD; drop it.
  return Buffer.from(clean)
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

/** Whether a text holds a secret in any of its usual spellings. */
export function holdsSecret(text: string, secret: string): boolean {
  return spellings(secret).some((spelling) => text.includes(spelling));
}

/** As it is, as JSON writes it (with `/` escaped, too, as PHP does), and as it stands in a URL; longest first. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const all = [secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret)];
  return [...new Set(all)].filter((one) => one !== '').sort((a, b) => b.length - a.length);
}

/**
 * A stream that replaces every occurrence of the secret, in whatever spelling (spelling.ts), by as many other bytes,
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

/** A printable ASCII character written as an escape: no honest writer does that, so the long look is rare. */
const ESCAPED_ASCII = /\\u00[2-7]/i;
/** Characters that JSON may, or must, write after a backslash: a token with one of them has several honest spellings. */
const ESCAPABLE = /["\\/]/;
const ESCAPE = /\\(?:u([0-9a-f]{4})|(.))/gis;

/**
 * Whether bytes of the platform hold its token, in whatever spelling JSON has for it.
 * @param token printable ASCII
 */
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
