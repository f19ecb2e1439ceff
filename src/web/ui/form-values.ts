/** The typed values of a form, and its body. Pure. */
import type { Fault } from './api.js';

type Is = 'number' | 'decimal' | 'date' | 'time' | 'datetime-local' | 'lines' | 'box' | 'password' | 'search';

export interface FieldSpec {
  /** Path in the body: `limits.maxRangeDays` */
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  /** Default: text. `decimal` is a text input, `lines` has one item per line, `box` is a checkbox. */
  readonly is?: Is | undefined;
  /** Makes the field a select; a pair is a value with its title. */
  readonly options?: readonly (string | readonly [value: string, title: string])[] | undefined;
  /** Suggestions while typing. */
  readonly offers?: readonly { readonly id: number; readonly name: string | null }[];
  /** Value of an empty field; absent: the body omits the field. */
  readonly usual?: unknown;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  /** Of `lines`; default: 3. */
  readonly rows?: number;
}

/** By the names of fields. */
export type Values = Readonly<Record<string, unknown>>;

export function valuesOf(fields: readonly FieldSpec[], body: unknown = {}): Values {
  return Object.fromEntries(fields.map(({ name, is }) => [name, typedOf(at(body, name), is)]));
}

function typedOf(value: unknown, is: FieldSpec['is']): unknown {
  if (is === 'box') return value === true;
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

const at = (body: unknown, name: string): unknown =>
  name.split('.').reduce<unknown>((part, key) => (part as Values | null | undefined)?.[key], body);

/** The body of a form; only the gateway validates it. */
export function bodyOf(fields: readonly FieldSpec[], values: Values): Record<string, unknown> {
  return fields.reduce<Record<string, unknown>>((body, { name, is, usual }) => {
    const value = parsed(values[name], is) ?? usual;
    return value === undefined ? body : put(body, name.split('.'), value);
  }, {});
}

function put(body: Values, [first = '', ...rest]: readonly string[], value: unknown): typeof body {
  return { ...body, [first]: rest.length === 0 ? value : put((body[first] ?? {}) as Values, rest, value) };
}

/** @returns undefined for an empty field */
function parsed(value: unknown, is: FieldSpec['is']): unknown {
  if (typeof value === 'boolean') return value || undefined;
  const text = String(value ?? '').trim();
  if (text === '') return undefined;
  if (is === 'lines') return linesOf(text);
  // An invalid number is sent, and refused: omitting it would silently drop a limit.
  return (is === 'number' || is === 'decimal') && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function linesOf(text: unknown): string[] {
  return String(text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Faults of a field and its items. @param items of a list: faults name the item instead of its index */
export function faultAt(
  faults: readonly Fault[],
  member: string,
  items: readonly string[] = [],
): string | undefined {
  const found = faults
    .filter(({ param }) => param === member || param.startsWith(`${member}.`))
    .map(({ param, message }) => {
      const item = items[Number(param.slice(member.length + 1))];
      return param === member || item === undefined ? message : `${item}: ${message}`;
    });
  return found.length === 0 ? undefined : found.join('; ');
}
