/** Query parameters, checked by a schema. Pure. */
import type { Static, TObject } from 'typebox';
import { type FieldFault, invalidQuery } from '../../errors.js';
import { PATTERNS } from '../../lib/faults.js';
import { isUnknown, mustBe } from '../../lib/field-faults.js';
import { dayNumber } from '../../reports/query/days.js';

/**
 * @param given query parameters as Fastify parsed them: a text, or a list for a parameter that was repeated
 * @returns their values
 * @throws GatewayError `invalid_query` with each fault
 */
export function readQuery<Q extends TObject>({ properties, required }: Q, given: object): Static<Q> {
  const needed = new Set<string>(required);
  const texts = new Map<string, unknown>(Object.entries(given));
  const known = Object.keys(properties);
  const errors: FieldFault[] = [...texts.keys()]
    .filter((name) => !known.includes(name))
    .map((param) => isUnknown(param, known));
  const read = Object.entries(properties).flatMap(([name, schema]): [string, unknown][] => {
    const text = texts.get(name);
    if (text === undefined && !needed.has(name)) return [];
    const value = typeof text === 'string' ? readValue(schema as Form, text) : undefined;
    const once = Array.isArray(text) ? ', given once' : '';
    if (value === undefined) errors.push(mustBe(name, `${allowedBy(schema as Form)}${once}`));
    return [[name, value]];
  });
  if (errors.length > 0) throw invalidQuery(...errors);
  return Object.fromEntries(read) as Static<Q>;
}

/** The keywords of JSON Schema that query parameters use. */
interface Form {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

function readValue(form: Form, text: string): string | number | undefined {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER, minLength = 0, maxLength = maximum } = form;
  if (form.type === 'integer') {
    const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    return number >= minimum && number <= maximum ? number : undefined;
  }
  if (form.enum !== undefined) return form.enum.includes(text) ? text : undefined;
  if (form.format === 'date') return dayNumber(text) === null ? undefined : text;
  if (form.pattern !== undefined) return new RegExp(form.pattern).test(text) ? text : undefined;
  const { length } = [...text];
  return length >= minLength && length <= maxLength ? text : undefined;
}

function allowedBy(form: Form): string {
  if (form.type === 'integer') return `a whole number from ${form.minimum} to ${form.maximum}`;
  if (form.enum !== undefined) return `one of ${form.enum.join(', ')}`;
  if (form.format === 'date') return 'a calendar day as YYYY-MM-DD';
  if (form.pattern !== undefined) return PATTERNS[form.pattern] ?? `of the form ${form.pattern}`;
  return form.maxLength === undefined
    ? 'a text'
    : `a text of ${form.minLength ?? 0} to ${form.maxLength} characters`;
}
