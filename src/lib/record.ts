/**
 * Stored or received JSON records, validated by a schema.
 *
 * A schema has the members that this release needs. Further members, of another release, are kept: writers spread what they
 * read, so that two releases can share a store.
 */
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import Value from 'typebox/value';
import { parseOrNull } from './json.js';

/** Deeply read-only. */
export type Frozen<T> = T extends (...args: never) => unknown
  ? T
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T;

export interface RecordForm<T, S extends TSchema = TSchema> {
  readonly schema: S;
  is(value: unknown): value is T;
  /** @returns null for invalid JSON or another form */
  parse(text: string): T | null;
  /** @param id for the error, which does not quote the record. @throws DamagedRecord if `parse` returns null */
  read(text: string, id: string): T;
}

export type RecordOf<Form> = Form extends RecordForm<infer T> ? T : never;

export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
  constructor(id: string) {
    super(`the record ${id} is damaged`);
  }
}

/** The validator is compiled on first use. */
export function recordForm<S extends TSchema>(schema: S): RecordForm<Frozen<Static<S>>, S> {
  type T = Frozen<Static<S>>;
  let validator: Validator | undefined;

  function is(value: unknown): value is T {
    validator ??= Compile(schema);
    return validator.Check(value);
  }

  function parse(text: string): T | null {
    const value = parseOrNull(text);
    return is(value) ? value : null;
  }

  return {
    schema,
    is,
    parse,
    read(text, id) {
      const value = parse(text);
      if (value === null) throw new DamagedRecord(id);
      return value;
    },
  };
}

/**
 * What this release can read of a value that another release told: without the members and items that it cannot.
 * @returns undefined if one of them is required, or the value has another form
 */
export function readableOf<S extends TSchema>(schema: S, value: unknown): Frozen<Static<S>> | undefined;
export function readableOf(schema: ReadableForm, value: unknown): unknown {
  if (fits(schema, value)) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items && value.map((item) => readableOf(items, item)).filter((item) => item !== undefined);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const kept: Record<string, unknown> = { ...value };
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const read = readableOf(member, kept[name]);
    if (read === undefined) delete kept[name];
    else kept[name] = read;
  }
  return fits(schema, kept) ? kept : undefined;
}

// Not by `Value.Check` itself, which lets the compiler take a value that does not fit for none.
const fits = (schema: TSchema, value: unknown): boolean => Value.Check(schema, value);

type ReadableForm = TSchema & {
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
};
