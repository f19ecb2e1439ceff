/** Keeps the platform's token out of everything that leaves the gateway. */
import { Transform } from 'node:stream';

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
 * A stream that replaces every occurrence of the secret, in any of its usual spellings, by as many other bytes, also
 * across chunks: the length of the whole does not change, so `content-length` stays true.
 */
export function maskStream(secret: string): Transform {
  const needles = spellings(secret).map((spelling) => Buffer.from(spelling));
  // Not part of any spelling, so that what was masked and what follows cannot be the secret once more.
  const fill = needles.some((needle) => needle.includes('*')) ? ' ' : '*';
  let tail: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = Buffer.concat([tail, chunk]);
      for (const needle of needles) mask(bytes, needle, fill);
      // What could be the beginning of the secret waits for the next chunk.
      const keep = Math.max(0, ...needles.map((needle) => partialMatch(bytes, needle)));
      tail = bytes.subarray(bytes.length - keep);
      done(null, bytes.subarray(0, bytes.length - keep));
    },
    flush(done) {
      done(null, tail);
    },
  });
}

function mask(bytes: Buffer, needle: Buffer, fill: string): void {
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.fill(fill, at, at + needle.length);
  }
}

/** Length of the longest end of `bytes` that is a proper beginning of `needle`. */
function partialMatch(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
