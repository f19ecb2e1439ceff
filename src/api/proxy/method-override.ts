/**
 * Finds a member, field or part named `_method`, by which the platform's framework would change the method. Streamed bodies are
 * searched too, so that neither size nor framing evades it.
 */
import { GatewayError } from '../../errors.js';

/** How a framework parses a body; null: not at all. */
export type BodyKind = 'json' | 'form' | 'multipart' | null;

/** As in PHP and Symfony: forms by their exact type, JSON by any type that contains it. */
export function bodyKindOf(contentType: string | undefined): BodyKind {
  const text = contentType?.trim().toLowerCase() ?? '';
  if (text.startsWith('application/x-www-form-urlencoded')) return 'form';
  if (text.startsWith('multipart/form-data')) return 'multipart';
  return text.includes('/json') || text.includes('+json') ? 'json' : null;
}

/** PHP drops spaces in front of a field's name, and takes dots and open brackets for underscores. */
const OVERRIDE = /^\s*[_.[ ]method(?:[\0[]|$)/i;

/** Called with each piece of a body, and with null at its end. @returns whether the override was found */
type Search = (piece: Uint8Array | null) => boolean;

export function searchOverride(kind: Exclude<BodyKind, null>): Search {
  if (kind === 'json') return searchJson();
  return kind === 'form' ? searchForm() : searchParts();
}

export function overrideRefused(): GatewayError {
  return new GatewayError('invalid_body', {
    errors: [{ param: '_method', message: 'is not passed through' }],
    headers: { connection: 'close' },
  });
}

/** Longer than any spelling of `_method`. */
const LONGEST_NAME = 256;

/** Names between `&` and `=`. */
function searchForm(): Search {
  /** null in a value. */
  let name: string | null = '';
  const isOverride = () => name !== null && name !== '' && OVERRIDE.test(decodeName(name));
  return (piece) => {
    if (piece === null) return isOverride();
    for (const byte of piece) {
      const char = String.fromCharCode(byte);
      if (char === '&' || char === '=') {
        if (isOverride()) return true;
        name = char === '&' ? '' : null;
      } else if (name !== null && name.length < LONGEST_NAME) name += char;
    }
    return false;
  };
}

function decodeName(name: string): string {
  return name
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN, CLOSE] = [new Set([0x7b, 0x5b]), new Set([0x7d, 0x5d])];
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Texts before a colon, in the outermost object. */
function searchJson(): Search {
  let depth = 0;
  /** null outside of texts. */
  let text: string | null = null;
  let last = '';
  let escaped = false;
  return (piece) => {
    for (const byte of piece ?? []) {
      if (text === null) {
        if (byte === QUOTE) text = '';
        else if (byte === COLON && depth === 1 && isOverrideText(last)) return true;
        else if (!SPACE.has(byte)) {
          if (OPEN.has(byte)) depth += 1;
          else if (CLOSE.has(byte)) depth -= 1;
          last = '';
        }
      } else if (byte === QUOTE && !escaped) [last, text] = [text, null];
      else {
        escaped = byte === BACKSLASH && !escaped;
        if (depth === 1 && text.length < LONGEST_NAME) text += String.fromCharCode(byte);
      }
    }
    return false;
  };
}

/** @param source the text between the quotes */
function isOverrideText(source: string): boolean {
  const text = source.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return text === '_method';
}

/** Maximum head of a part; no client sends longer ones. */
const LONGEST_HEAD = 8192;
const NAME = /(?:^|[;\s])name\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]*))/gi;

/**
 * Heads of parts: the text between a line that begins with `--` and an empty line. The boundary is not used, because parsers
 * read it differently.
 */
function searchParts(): Search {
  let line = '';
  let head: string | null = null;
  const endOfLine = (): boolean => {
    const text = line.replace(/\r$/, '');
    line = '';
    if (text.startsWith('--')) head = '';
    else if (head !== null && text === '') {
      const found = namesOverride(head);
      head = null;
      return found;
    } else if (head !== null && head.length < LONGEST_HEAD) head += `\n${text}`;
    return false;
  };
  return (piece) => {
    if (piece === null) return head !== null && namesOverride(head + line);
    for (const byte of piece) {
      if (byte === 0x0a) {
        if (endOfLine()) return true;
      } else if (line.length < LONGEST_HEAD) line += String.fromCharCode(byte);
    }
    return false;
  };
}

function namesOverride(head: string): boolean {
  return [...head.matchAll(NAME)].some(([, double, single, bare]) =>
    OVERRIDE.test((double ?? single ?? bare ?? '').replace(/\\(.)/g, '$1')),
  );
}
