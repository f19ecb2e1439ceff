/** The query string, read once and strictly: no spelling of a name or value is left to a second parser. */
import { type FieldFault, GatewayError } from '../../errors.js';

export interface QueryPair {
  readonly name: string;
  readonly value: string;
}

const MAX_PAIRS = 256;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Splits `a=1&b=2` into decoded pairs, in order. `+` is a space (application/x-www-form-urlencoded), percent
 * sequences are UTF-8; `;` is an ordinary character.
 * @throws GatewayError `invalid_query` on broken encoding, control characters, or more than 256 parameters
 */
export function parseQueryText(text: string): QueryPair[] {
  if (text === '') return [];
  const pieces = text.split('&');
  const faults: FieldFault[] = [];
  const pairs: QueryPair[] = [];
  if (pieces.length > MAX_PAIRS) {
    faults.push({ param: '', message: `more than ${MAX_PAIRS} parameters` });
  }
  for (const piece of pieces.slice(0, MAX_PAIRS)) {
    if (piece === '') continue;
    const cut = piece.indexOf('=');
    const name = decode(cut < 0 ? piece : piece.slice(0, cut));
    const value = cut < 0 ? '' : decode(piece.slice(cut + 1));
    if (name === null || value === null) {
      faults.push({
        param: name ?? '',
        message: 'is not valid percent-encoded UTF-8 without control characters',
      });
    } else {
      pairs.push({ name, value });
    }
  }
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return pairs;
}

function decode(text: string): string | null {
  // Bytes above ASCII must come percent-encoded (RFC 3986 section 2); raw ones would be guessed at.
  if (!/^[\x21-\x7e]*$/.test(text)) return null;
  if (!/[%+]/.test(text)) return text;
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return CONTROL.test(decoded) ? null : decoded;
  } catch {
    return null;
  }
}

/** Writes pairs back in one fixed spelling: RFC 3986 unreserved characters stay, everything else is encoded. */
export function writeQueryText(pairs: readonly QueryPair[]): string {
  return pairs.map(({ name, value }) => `${encode(name)}=${encode(value)}`).join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
