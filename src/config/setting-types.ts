/** The kinds of settings that the schema is made of. */
import Type, { type TSchema } from 'typebox';

/** What a setting's schema carries beside JSON Schema. */
export interface SettingNotes {
  /** Name of its environment variable. */
  readonly env?: string;
  /** A secret is never printed. It may come from the file named by `<env>_FILE`. */
  readonly secret?: boolean;
  /** Shown in tables where the default is computed at startup. */
  readonly shownDefault?: string;
  /** Replaces the generated text for allowed values. */
  readonly allowed?: string;
  /** Validates a string beyond its type. */
  readonly is?: (text: string) => boolean;
  /** Redacts an invalid string in the error. */
  readonly show?: (text: string) => string;
}

interface Notes extends SettingNotes {
  readonly default?: string;
  readonly pattern?: string;
  readonly minLength?: number;
}

export const group = <P extends Record<string, TSchema>>(properties: P, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description });

export const optionalCount = (
  bounds: readonly [number, number],
  description: string,
  notes: SettingNotes = {},
) => Type.Optional(Type.Integer({ minimum: bounds[0], maximum: bounds[1], description, ...notes }));

/** An integer. @param range its default, minimum and maximum */
export const count = (
  [value, minimum, maximum]: readonly [value: number, minimum: number, maximum: number],
  description: string,
  notes: SettingNotes = {},
) => Type.Integer({ minimum, maximum, default: value, description, ...notes });

export const seconds = (value: number, description: string) => count([value, 0, 31_622_400], description);

export const port = (env: string, value: number, description: string) =>
  count([value, 0, 65_535], description, { env });

export const flag = (value: boolean, description: string, notes: SettingNotes = {}) =>
  Type.Boolean({ default: value, description, ...notes });

export const text = (description: string, notes: Notes) =>
  Type.String({ minLength: 1, description, ...notes });

export const optionalText = (description: string, notes: Notes = {}) =>
  Type.Optional(Type.String({ ...notes, description }));

export const secret = (env: string, description: string) =>
  optionalText(description, { minLength: 1, env, secret: true });

export const choice = <const V extends string[]>(
  values: [...V],
  value: V[number],
  description: string,
  notes: SettingNotes = {},
) => Type.Enum(values, { default: value, description, ...notes });

/** A list of strings. `notes` apply to each item. */
export const list = (description: string, notes: Notes = {}, value: string[] = []) =>
  Type.Array(Type.String(notes.pattern === undefined ? { minLength: 1, ...notes } : { ...notes }), {
    default: value,
    description,
  });
