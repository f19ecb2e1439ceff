/** What the fields of a form hold as typed, and the body it becomes. Pure. */
import type { Fault } from './api.js';

/** One field: its place in the body, its label, and how it is typed. */
export interface FieldSpec {
  /** `limits.maxRangeDays` */
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  /**
   * A text when left out. `decimal` is typed as a text, `lines` has one item a line, `box` is a checkbox.
   */
  readonly is?:
    | 'number'
    | 'decimal'
    | 'date'
    | 'datetime-local'
    | 'lines'
    | 'box'
    | 'password'
    | 'search'
    | undefined;
  /** A choice of these; a pair is a value with its title. */
  readonly options?: readonly (string | readonly [value: string, title: string])[] | undefined;
  /** Offered while one types. */
  readonly offers?: readonly { readonly id: number; readonly name: string | null }[];
  /** What an empty field becomes; without it an empty field is left out of the body. */
  readonly usual?: unknown;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
}

/** By the names of fields. */
export type Values = Readonly<Record<string, unknown>>;

/** What a form shows of a body. */
export function valuesOf(fields: readonly FieldSpec[], body: unknown = {}): Values {
  return Object.fromEntries(fields.map(({ name, is }) => [name, typedOf(at(body, name), is)]));
}

function typedOf(value: unknown, is: FieldSpec['is']): unknown {
  if (is === 'box') return value === true;
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

const at = (body: unknown, name: string): unknown =>
  name.split('.').reduce<unknown>((part, key) => (part as Values | null | undefined)?.[key], body);

/** The body of a form. The gateway alone judges what is typed. */
export function bodyOf(fields: readonly FieldSpec[], values: Values): Record<string, unknown> {
  return fields.reduce<Record<string, unknown>>((body, { name, is, usual }) => {
    const value = saidBy(values[name], is) ?? usual;
    return value === undefined ? body : put(body, name.split('.'), value);
  }, {});
}

function put(
  body: Values,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  return { ...body, [first]: rest.length === 0 ? value : put((body[first] ?? {}) as Values, rest, value) };
}

/** @returns undefined: nothing is typed */
function saidBy(value: unknown, is: FieldSpec['is']): unknown {
  if (typeof value === 'boolean') return value || undefined;
  const text = String(value ?? '').trim();
  if (text === '') return undefined;
  if (is === 'lines') return linesOf(text);
  // A text that is no number is not left out: a limit would be gone without a word.
  return (is === 'number' || is === 'decimal') && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The items of a text with one item a line. */
export function linesOf(text: unknown): string[] {
  return String(text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/**
 * What is wrong with a member of the body, the faults of its items among them.
 * @param items of a list, so that a fault names the item and not its place
 */
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
