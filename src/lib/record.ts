/**
 * Stored or received JSON records, validated by a schema.
 *
 * A schema has the members that this release needs. Further members, of another release, are kept: writers spread what they
 * read, so that two releases can share a store.
 */
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
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
