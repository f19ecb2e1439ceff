/** An OpenAPI document held against real answers: each has to be described, down to its last member and header. */
import Schema, { type Validator } from 'typebox/schema';

type Json = Readonly<Record<string, unknown>>;

interface Answer {
  readonly headers?: Readonly<Record<string, Json>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

export interface Operation {
  readonly summary?: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface Document {
  readonly info: { readonly description: string };
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A request and its answer, as they were on the wire. */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Of the transport, or of a place that OpenAPI has beside its headers. */
const UNTOLD = [
  'allow',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
];

/** Statuses that any request can have, which stand under `default` alone: it was slow, or expected too much. */
const OF_THE_TRANSPORT = [408, 417];

export class Description {
  private readonly validators = new Map<string, Validator>();

  constructor(readonly document: Document) {}

  /** The template of the path that a target has, e.g. `/admin/v1/teams/{id}`; a literal one before others. */
  private pathOf(target: string): string | null {
    const path = target.split('?', 1)[0] as string;
    if (this.document.paths[path] !== undefined) return path;
    const found = Object.keys(this.document.paths).find((template) =>
      new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    return found ?? null;
  }

  operations(): readonly { readonly call: string; readonly operation: Operation }[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        call: `${method.toUpperCase()} ${path}`,
        operation,
      })),
    );
  }

  /** A HEAD answers as its GET. */
  operationOf({ method, target }: Pick<Exchange, 'method' | 'target'>): Operation | undefined {
    const path = this.pathOf(target);
    const item = path === null ? undefined : this.document.paths[path];
    return item?.[method.toLowerCase()] ?? (method === 'HEAD' ? item?.get : undefined);
  }

  answerOf(operation: Operation | undefined, status: string): Answer | undefined {
    const answer = operation?.responses[status];
    return answer === undefined ? undefined : (this.resolve(answer) as Answer);
  }

  /** What the document does not say of an answer; empty when it says it all. */
  faultsOf(exchange: Exchange): string[] {
    const { method, target, status } = exchange;
    const operation = this.operationOf(exchange);
    if (operation === undefined) return [`${method} ${target} is no operation`];
    const key = OF_THE_TRANSPORT.includes(status) ? 'default' : String(status);
    const answer = this.answerOf(operation, key) ?? this.answerOf(operation, `${key.charAt(0)}XX`);
    if (answer === undefined) return [`${operation.operationId} has no answer ${status}: ${exchange.text}`];
    const id = `${operation.operationId} ${status}`;
    const faults = [...this.headerFaults(exchange, answer), ...this.bodyFaults(exchange, answer, id)];
    return faults.map((fault) => `${id}: ${fault}`);
  }

  private headerFaults({ headers }: Exchange, { headers: told = {} }: Answer): string[] {
    return Object.entries(headers).flatMap(([name, value]) => {
      if (UNTOLD.includes(name)) return [];
      const header = told[name];
      if (header === undefined) return [`the header ${name} is not described`];
      const { schema } = this.resolve(header) as { schema: Json };
      const sent = schema.type === 'integer' ? Number(value) : String(value);
      return Schema.Compile(schema).Check(sent) ? [] : [`the header ${name} is ${String(value)}`];
    });
  }

  private bodyFaults({ method, headers, text }: Exchange, { content }: Answer, id: string): string[] {
    if (method === 'HEAD') return text === '' ? [] : ['a HEAD has a body'];
    if (content === undefined) return text === '' ? [] : [`a body that is not described: ${text}`];
    const type = String(headers['content-type'] ?? '').split(';', 1)[0] as string;
    const place = [type, '*/*'].find((one) => content[one] !== undefined);
    if (place === undefined) return [`the type ${type} is not described`];
    const schema = content[place]?.schema as Json;
    const isJson = /^application\/(problem\+)?json$/.test(place);
    const validator = this.validator(`${id} ${place}`, schema);
    const [valid, errors] = validator.Errors(isJson ? JSON.parse(text) : text);
    return valid ? [] : errors.map(({ instancePath, message }) => `${instancePath} ${message}: ${text}`);
  }

  private validator(id: string, schema: Json): Validator {
    const known = this.validators.get(id);
    if (known !== undefined) return known;
    const made = Schema.Compile(this.closed(schema) as Json) as Validator;
    this.validators.set(id, made);
    return made;
  }

  private resolve(value: unknown): unknown {
    const { $ref } = value as { $ref?: string };
    if ($ref === undefined) return value;
    const [, , kind = '', name = ''] = $ref.split('/');
    return this.document.components[kind]?.[name];
  }

  /** The schema without references, and taking no member that it does not name, unless it says that there are any. */
  private closed(schema: unknown, isBranch = false): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.closed(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { allOf, ...rest } = this.resolve(schema) as { allOf?: readonly unknown[]; type?: unknown };
    const members = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, this.closedMember(name, value)]),
    );
    const isOpen = isBranch || 'additionalProperties' in rest;
    if (allOf !== undefined) {
      const branches = allOf.map((branch) => this.closed(branch, true));
      return { ...members, allOf: branches, ...(isBranch ? {} : { unevaluatedProperties: false }) };
    }
    return { ...members, ...(rest.type === 'object' && !isOpen ? { additionalProperties: false } : {}) };
  }

  private closedMember(name: string, value: unknown): unknown {
    if (name !== 'properties') return this.closed(value);
    return Object.fromEntries(
      Object.entries(value as Json).map(([property, schema]) => [property, this.closed(schema)]),
    );
  }
}
