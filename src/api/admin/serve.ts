/** Routes of the admin plane, made from their operations. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { type FieldFault, invalidQuery } from '../../errors.js';
import { dayNumber } from '../../reports/query/days.js';
import { shownAs } from '../openapi/operation.js';
import { type AdminOperation, described, type Taken } from '../operations/operation.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** On the admin plane: nobody needs to be known. */
    readonly isOpen?: true;
  }
}

type Handler<O extends AdminOperation> = (
  request: FastifyRequest<Taken<O>>,
  reply: FastifyReply,
) => Promise<unknown>;

/**
 * Answers an operation.
 * @param handle is given query and body as their schemas have them; its result is the answer
 */
export function serve<O extends AdminOperation>(app: FastifyInstance, one: O, handle: Handler<O>): void {
  const [method = '', url = ''] = one.call.split(' ');
  const { tag, summary, query, body, bodyLimit, isOpen, status = 200 } = one;
  const { schema, config } = shownAs(tag, summary, described(one), body);
  app.route<Taken<O>>({
    method,
    url,
    schema: isOpen ? { ...schema, security: [] } : schema,
    config: { ...config, ...(isOpen && { isOpen }) },
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    async handler(request, reply) {
      if (query !== undefined) request.query = readQuery(query, request.query as object) as never;
      reply.code(status);
      return await handle(request as FastifyRequest<Taken<O>>, reply);
    },
  });
}

/** @throws GatewayError `invalid_query` with each fault; parameters that the schema does not name are left out */
function readQuery({ properties, required }: TObject, given: object): object {
  const needed = new Set<string>(required);
  const errors: FieldFault[] = [];
  const texts = new Map<string, unknown>(Object.entries(given));
  const read = Object.entries(properties).flatMap(([name, schema]): [string, unknown][] => {
    const text = texts.get(name);
    if (text === undefined && !needed.has(name)) return [];
    const value = typeof text === 'string' ? readValue(schema as Form, text) : undefined;
    const once = Array.isArray(text) ? ', given once' : '';
    if (value === undefined)
      errors.push({ param: name, message: `must be ${allowedBy(schema as Form)}${once}` });
    return [[name, value]];
  });
  if (errors.length > 0) throw invalidQuery(...errors);
  return Object.fromEntries(read);
}

/** What of JSON Schema is used for parameters of a query. */
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

/** @returns undefined for what the schema does not allow */
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

/** The patterns of parameters, in words. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^[a-z0-9-]{1,40}$': 'the id of a team',
  '^[a-z]+(\\.[a-zA-Z_-]+)?$': 'an action such as token.activate, or its kind: token',
};
