/** JSON texts of any shape, and ways to compare what is read of them with what `JSON.parse` reads. */
import fc from 'fast-check';
import {
  isJsonArray,
  type Json,
  JsonError,
  JsonNumber,
  JsonObject,
  parseJson,
} from '../../../src/reports/rows/json.js';

/** What `JSON.parse` would have made of it. */
export function toPlain(value: Json): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (value instanceof JsonObject) {
    return Object.fromEntries(value.names.map((name, index) => [name, toPlain(value.values[index] as Json)]));
  }
  return isJsonArray(value) ? value.map(toPlain) : value;
}

/** @throws when the text is read without a fault. */
export function errorOf(text: string, maxDepth?: number): JsonError {
  try {
    parseJson(text, maxDepth === undefined ? {} : { maxDepth });
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`was read: ${text.slice(0, 100)}`);
}

/** A string as JSON with some of its characters escaped. */
export const spelling = (text: string, escapes: readonly boolean[]): string =>
  `"${[...text]
    .flatMap((char) => char.split(''))
    .map((unit, index) =>
      escapes[index % escapes.length]
        ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(unit).slice(1, -1),
    )
    .join('')}"`;

const names = fc.constantFrom(
  'a',
  'b',
  'ab',
  'a"',
  'a\\',
  '"',
  '\n',
  '',
  '__proto__',
  'constructor',
  '1',
  '0',
  'é',
);
/** Which characters of a string to escape, taken again and again. */
export const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
/** Rows whose members mostly repeat, with names that are spelt one way here and another there. */
export const rowsText = fc
  .array(
    fc.uniqueArray(fc.tuple(names, escapes, fc.jsonValue()), { selector: ([name]) => name, maxLength: 5 }),
    {
      maxLength: 6,
    },
  )
  .map((rows) => {
    const row = (members: (typeof rows)[number]): string =>
      `{${members.map(([name, how, value]) => `${spelling(name, how)}:${JSON.stringify(value)}`).join(',')}}`;
    return `[${rows.flatMap((members) => [row(members), row(members), row(members.slice(1))]).join(',')}]`;
  });
