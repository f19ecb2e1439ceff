/** Finds a member or field named `_method`, by which the platform's framework would change the method. */
import { GatewayError } from '../../errors.js';
import { JsonError, JsonObject, parseJson } from '../../reports/rows/json.js';

/** How a framework parses a body; null: not at all, or in parts. */
export type BodyKind = 'json' | 'form' | null;

/** As in PHP and Symfony: forms by their exact type, JSON by any type that contains it. */
export function bodyKindOf(contentType: string | undefined): BodyKind {
  const text = contentType?.trim().toLowerCase() ?? '';
  if (text.startsWith('application/x-www-form-urlencoded')) return 'form';
  if (text.startsWith('multipart/form-data')) return null;
  return text.includes('/json') || text.includes('+json') ? 'json' : null;
}

/** PHP drops spaces in front of a field's name, and takes dots and open brackets for underscores. */
const OVERRIDE = /^\s*[_.[ ]method(?:[\0[]|$)/i;

/** Whether the platform may read another method in a body. */
export function mayOverride(kind: Exclude<BodyKind, null>, body: Buffer): boolean {
  return kind === 'json' ? inJson(body) : inForm(body.toString('latin1'));
}

export function overrideRefused(): GatewayError {
  return new GatewayError('invalid_body', {
    errors: [{ param: '_method', message: 'is not passed through' }],
    headers: { connection: 'close' },
  });
}

/** In the outermost object; in a body that is no JSON by our rules, anywhere. */
function inJson(body: Buffer): boolean {
  const text = body.toString('utf8');
  if (!unescaped(text).includes('_method')) return false;
  try {
    const value = parseJson(text);
    return value instanceof JsonObject && value.names.includes('_method');
  } catch (error) {
    if (error instanceof JsonError) return true;
    throw error;
  }
}

function unescaped(text: string): string {
  return text.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function inForm(text: string): boolean {
  return text.split('&').some((field) => OVERRIDE.test(decodeName(field.split('=', 1)[0] ?? '')));
}

function decodeName(name: string): string {
  return name
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
