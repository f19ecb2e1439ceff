/** Faults of a value by JSON Schema: each path once, with the allowed values in words. */
import type { TSchema } from 'typebox';
import { Settings } from 'typebox/system';
import Value from 'typebox/value';
import { didYouMean, meantName } from './near-name.js';

export interface SchemaFault {
  /** Names and indices. */
  readonly path: readonly string[];
  readonly kind: 'wrong' | 'missing' | 'unknown';
  /** E.g. `a whole number from 1 to 10000`; for an unknown member, the known ones. */
  readonly allowed: string;
  /** The message of TypeBox. */
  readonly says: string;
}

// TypeBox reports at most 8 faults by default.
Settings.Set({ maxErrors: 1000 });

/** If a path and one below it are at fault, only the inner one is listed. */
export function faultsOf(schema: TSchema, value: unknown): SchemaFault[] {
  const found = new Map<string, Pick<SchemaFault, 'kind' | 'says'>>();
  for (const { keyword, instancePath, params, message: says } of Value.Errors(schema, value)) {
    if (keyword === 'boolean') found.set(instancePath, { kind: 'unknown', says });
    else if (keyword === 'required') {
      const { requiredProperties } = params as { readonly requiredProperties: readonly string[] };
      for (const name of requiredProperties) found.set(`${instancePath}/${name}`, { kind: 'missing', says });
    }
    // Each additional property is reported at its own path, too.
    else if (keyword !== 'additionalProperties' && !found.has(instancePath))
      found.set(instancePath, { kind: 'wrong', says });
  }
  const outer = new Set([...found.keys()].flatMap(placesAround));
  return [...found]
    .filter(([pointer]) => !outer.has(pointer))
    .map(([pointer, fault]) => {
      const segments = pointer.split('/').slice(1);
      // JSON Pointer, RFC 6901.
      const path = segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
      const isUnknown = fault.kind === 'unknown';
      const form = formAt(schema, isUnknown ? path.slice(0, -1) : path) ?? {};
      return { path, ...fault, allowed: isUnknown ? knownIn(form, path.at(-1) ?? '') : allowedBy(form) };
    });
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, name) => (typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined),
    value,
  );
}

/** @returns the pointers of all parents */
function placesAround(pointer: string): string[] {
  const parts = pointer.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** The JSON Schema keywords used here. */
export interface Form {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Form[];
  readonly properties?: Readonly<Record<string, Form>>;
  readonly patternProperties?: Readonly<Record<string, Form>>;
  readonly items?: Form;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly pattern?: string;
  readonly format?: string;
  readonly examples?: unknown;
}

/** The schema of a value at a path, e.g. `routes`, `0`, `method`. */
export function formAt(form: Form, [name, ...rest]: readonly string[]): Form | undefined {
  if (name === undefined) return form;
  for (const one of form.anyOf ?? [form]) {
    const child = childOf(one, name);
    const found = child && formAt(child, rest);
    if (found !== undefined) return found;
  }
  return undefined;
}

function childOf({ properties = {}, patternProperties = {}, items }: Form, name: string): Form | undefined {
  if (Object.hasOwn(properties, name)) return properties[name];
  return items ?? Object.entries(patternProperties).find(([form]) => new RegExp(form).test(name))?.[1];
}

function knownIn({ anyOf = [], properties }: Form, name: string): string {
  const known = Object.keys(properties ?? anyOf.find((one) => one.properties)?.properties ?? {});
  const meant = meantName(name, known);
  const hint = meant === undefined ? `known: ${known.join(', ') || 'none'}` : didYouMean(meant);
  return `no member of this name; ${hint}`;
}

/** @param many in the plural */
function allowedBy(form: Form, many = false): string {
  const [a, s] = many ? ['', 's'] : ['a ', ''];
  if (form.anyOf !== undefined) return form.anyOf.map((one) => allowedBy(one, many)).join(', or ');
  if (form.const !== undefined) return JSON.stringify(form.const);
  if (form.enum !== undefined) return `${many ? '' : 'one of '}${form.enum.join(', ')}`;
  if (form.type === 'integer') return `${a}whole number${s}${range(form)}`;
  if (form.type === 'number') return `${a}number${s}${range(form)}`;
  if (form.type === 'boolean') return 'true or false';
  if (form.type === 'array') return `${a}list${s} of ${counted(form)}`;
  if (form.type === 'object') return `${a}mapping${s}${members(form)}`;
  if (form.type === 'string') return many ? `texts (${textOf(form)})` : textOf(form);
  return form.type ?? 'anything';
}

function range({ minimum, maximum }: Form): string {
  if (minimum === undefined) return maximum === undefined ? '' : ` up to ${maximum}`;
  return ` from ${minimum}${maximum === undefined ? '' : ` to ${maximum}`}`;
}

function counted({ items = {}, minItems, maxItems, uniqueItems }: Form): string {
  const least = minItems === undefined ? '' : `at least ${minItems} `;
  const most = maxItems === undefined ? '' : `at most ${maxItems} `;
  const count = least === '' || most === '' ? least + most : `${minItems} to ${maxItems} `;
  return `${count}${allowedBy(items, true)}${uniqueItems === true ? ', each once' : ''}`;
}

function members({ properties, patternProperties = {}, maxProperties }: Form): string {
  if (properties !== undefined) return ` of ${Object.keys(properties).join(', ')}`;
  const [value] = Object.values(patternProperties);
  if (value === undefined) return '';
  return ` of ${maxProperties === undefined ? '' : `at most ${maxProperties} `}names, each to ${allowedBy(value)}`;
}

function textOf({ pattern, format, minLength = 0, maxLength, examples }: Form): string {
  if (pattern !== undefined) return PATTERNS[pattern] ?? `text of the form ${pattern}`;
  if (format !== undefined) return FORMATS[format] ?? `text of the format ${format}`;
  const example = Array.isArray(examples) ? ` such as ${examples.join(' or ')}` : '';
  if (maxLength !== undefined) return `text of ${minLength} to ${maxLength} characters${example}`;
  return `${minLength === 0 ? 'text' : 'text that is not empty'}${example}`;
}

const FORMATS: Readonly<Record<string, string>> = {
  date: 'a calendar day as YYYY-MM-DD',
  'date-time': 'an ISO time such as 2026-11-23T00:00:00Z',
};

/** Patterns of schemas in words. */
export const PATTERNS: Readonly<Record<string, string>> = {
  '^(?!gateway$)[a-z0-9-]{1,40}$': 'lower-case letters, digits and hyphens, at most 40, and not gateway',
  '^body(\\.[A-Za-z][A-Za-z0-9_-]{0,63}){1,8}$': 'a place in the body, e.g. body.budget.total',
  '^[A-Za-z][A-Za-z0-9_-]{0,63}$': 'the name of a member: a letter, then letters, digits, _ or -',
  '^[A-Za-z]{3,8}$': 'the code of a currency, e.g. EUR',
  '^[a-z0-9-]{1,40}$': 'the id of a team',
  '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$':
    'one line of 1 to 300 characters that is not blank',
  '^[a-z]+(\\.[a-zA-Z_-]+)?$': 'an action such as token.activate, or its kind: token',
  '^[\\x21-\\x7e]{1,16384}$': 'printable ASCII characters without spaces, at most 16384',
};
