/** Keeps the platform's token out of everything that leaves the gateway. */
import { Transform } from 'node:stream';

const REDACTED = '[redacted]';

/** @returns the text without any of the secrets, without bearer values, cut to `maxBytes` of UTF-8. */
export function scrubText(text: string, secrets: readonly string[], maxBytes: number): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== '') clean = clean.replaceAll(secret, REDACTED);
  }
  clean = clean.replace(/\bbearer\s+[^\s"',;]+/gi, `Bearer ${REDACTED}`);
  if (Buffer.byteLength(clean) <= maxBytes) return clean;
  // A cut inside of a character shows as U+FFFD; drop it.
  return Buffer.from(clean)
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

/**
 * A stream that replaces every occurrence of the secret by asterisks of the same length, also across chunks:
 * the length of the whole does not change, so `content-length` stays true.
 */
export function maskStream(secret: string): Transform {
  const needle = Buffer.from(secret);
  let tail: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = mask(Buffer.concat([tail, chunk]), needle);
      // What could be the beginning of the secret waits for the next chunk.
      const keep = Math.min(bytes.length, partialMatch(bytes, needle));
      tail = bytes.subarray(bytes.length - keep);
      done(null, bytes.subarray(0, bytes.length - keep));
    },
    flush(done) {
      done(null, tail);
    },
  });
}

function mask(bytes: Buffer, needle: Buffer): Buffer {
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.fill('*', at, at + needle.length);
  }
  return bytes;
}

/** Length of the longest end of `bytes` that is a proper beginning of `needle`. */
function partialMatch(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
