/** Decodes the bytes of an answer. Invalid bytes are refused: replacement characters would be cached as data. */
import { isUtf8 } from 'node:buffer';

/** Bytes that are invalid in their charset, or an unknown charset. */
export class CharsetError extends Error {
  override readonly name = 'CharsetError';
}

/** Where windows-1252 differs from Latin 1, from 0x80 on; NUL: undefined bytes, which are kept. */
const HIGH_CONTROLS =
  '\u20ac\0\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\0\u017d\0\0\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\0\u017e\u0178';
const UTF_8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);
/** WHATWG Encoding, section 4.2: Latin 1 is read as windows-1252. */
const WINDOWS_1252 = new Set(['windows-1252', 'cp1252', 'iso-8859-1', 'iso8859-1', 'latin1', 'l1']);

/** @returns in lower case; null if the content type has none */
export function charsetOf(contentType: string): string | null {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]?.toLowerCase() ?? null;
}

/**
 * A byte order mark, which remains in the text, overrides the declared charset. Default UTF-8.
 * @param charset from {@link charsetOf}
 * @throws CharsetError
 */
export function decodeText(bytes: Buffer, charset: string | null): string {
  const name = markedCharset(bytes) ?? charset ?? 'utf-8';
  if (UTF_8.has(name)) {
    if (!isUtf8(bytes)) throw new CharsetError('it is not valid UTF-8');
    return bytes.toString('utf8');
  }
  if (WINDOWS_1252.has(name)) return bytes.toString('latin1').replace(/[\x80-\x9f]/g, highControl);
  return decodeBy(name, bytes);
}

function markedCharset(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : null;
}

function highControl(char: string): string {
  const mapped = HIGH_CONTROLS[char.charCodeAt(0) - 0x80];
  return mapped === undefined || mapped === '\0' ? char : mapped;
}

function decodeBy(name: string, bytes: Buffer): string {
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(name, { fatal: true, ignoreBOM: true });
  } catch {
    throw new CharsetError(`its charset ${JSON.stringify(name.slice(0, 40))} is unknown`);
  }
  try {
    // A copy: not every decoder accepts shared memory.
    return decoder.decode(Uint8Array.from(bytes));
  } catch {
    throw new CharsetError(`it is not valid ${name}`);
  }
}
