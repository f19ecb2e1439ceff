/**
 * Records that are stored, or that another process or server sent: JSON held to a schema.
 *
 * A schema names what this release needs of a record. Objects in it stay open: members that it does not name are of
 * another release. They come with the value, so whoever writes a record anew spreads what was read into it, and two
 * releases can share a store.
 */
import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/** A value that nobody changes in place, down to its innermost members. */
export type Frozen<T> = T extends (...args: never) => unknown
  ? T
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T;

export interface RecordForm<T, S extends TSchema = TSchema> {
  readonly schema: S;
  is(value: unknown): value is T;
  /** @returns null for what is no JSON, or JSON of another form */
  parse(text: string): T | null;
  /** @param id for the error, which quotes nothing of the record. @throws DamagedRecord where `parse` gives null */
  read(text: string, id: string): T;
}

/** The type that a form reads. */
export type RecordOf<Form> = Form extends RecordForm<infer T> ? T : never;

export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
  constructor(id: string) {
    super(`the record ${id} is damaged`);
  }
}

/** Its validator is compiled once, when the first record of the form is read. */
export function recordForm<S extends TSchema>(schema: S): RecordForm<Frozen<Static<S>>, S> {
  type T = Frozen<Static<S>>;
  let validator: Validator | undefined;

  function is(value: unknown): value is T {
    validator ??= Compile(schema);
    return validator.Check(value);
  }

  function parse(text: string): T | null {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // The parser's words quote the text, which may be secret; who reads says what follows.
      return null;
    }
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
