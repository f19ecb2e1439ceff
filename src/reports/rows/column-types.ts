/**
 * Whether a column of rows holds numbers or texts: decided for the column, by all of its cells. What was seen of the
 * cells is kept with the rows, so that days kept apart can be joined to columns of one type. Facts only ever add up:
 * a column that is text stays text, whatever is joined to it.
 */

import { numberInString, numberTokenJson } from './decimal.js';
import { type JsonArray, JsonNumber, JsonObject, parseJson, writeJson } from './json.js';
import { isMeasure, isVersion } from './row-names.js';

/** What the cells of one column showed. */
export interface ColumnFacts {
  /** A text that is no number, or a number that JavaScript does not hold. */
  readonly text: boolean;
  /** Digits behind the point, in texts that have any: their one count, 0 for none, -1 for several. */
  readonly scale: number;
  /** Some text would lose zeros at its end as a number. */
  readonly idle: boolean;
  /** Some number has no point, or was no text. */
  readonly plain: boolean;
}

export type ColumnTypes = ReadonlyMap<string, ColumnFacts>;

/** Nothing but nulls, flags and nested values. */
const NOTHING: ColumnFacts = { text: false, scale: 0, idle: false, plain: false };
const TEXT: ColumnFacts = { text: true, scale: 0, idle: false, plain: false };
const PLAIN: ColumnFacts = { text: false, scale: 0, idle: false, plain: true };

/** @returns what one text shows, `isText` when its column's name says that it holds texts */
export function factsOfText(value: string, isText: boolean): ColumnFacts {
  if (value === '') return NOTHING;
  const number = isText ? null : numberInString(value);
  if (number === null) return TEXT;
  const point = value.indexOf('.');
  if (point < 0) return PLAIN;
  return decimal(value.length - point - 1, number.length < value.length);
}

/** A report has few different ones, and many cells of each. */
const DECIMALS: ColumnFacts[] = [];

function decimal(scale: number, idle: boolean): ColumnFacts {
  const at = scale * 2 + (idle ? 1 : 0);
  DECIMALS[at] ??= { text: false, scale, idle, plain: false };
  return DECIMALS[at];
}

/** @returns what one number shows that stood in JSON as such */
export function factsOfNumber({ text }: JsonNumber): ColumnFacts {
  return numberTokenJson(text).startsWith('"') ? TEXT : PLAIN;
}

export function addFacts(one: ColumnFacts, other: ColumnFacts): ColumnFacts {
  if (one === other || other === NOTHING) return one;
  const scale =
    one.scale === 0 || one.scale === other.scale ? other.scale : other.scale === 0 ? one.scale : -1;
  const adds = (other.text && !one.text) || (other.idle && !one.idle) || (other.plain && !one.plain);
  if (!adds && scale === one.scale) return one;
  return {
    text: one.text || other.text,
    scale,
    idle: one.idle || other.idle,
    plain: one.plain || other.plain,
  };
}

/**
 * Decimals of one scale are numbers, as a database writes them. Those of several that would lose zeros are not
 * (`10.1` and `10.10` are two versions), unless the name says that it is measured.
 */
export function holdsTexts(column: string, { text, scale, idle }: ColumnFacts): boolean {
  return text || (idle && (isVersion(column) || (scale === -1 && !isMeasure(column))));
}

/** Rows with the names of their columns, and what was seen of each, as {@link encodeFacts} writes it. */
export interface TypedColumns {
  readonly columns: readonly string[];
  /** In the order of the columns. Absent: nothing is known. */
  readonly types?: readonly string[];
}

function encodeFacts({ text, scale, idle, plain }: ColumnFacts): string {
  if (text) return 't';
  return `${scale === -1 ? '*' : scale === 0 ? '' : scale}${idle ? 'z' : ''}${plain ? 'p' : ''}`;
}

/** There are few different ones, and each day of an answer has one for each column. */
const decoded = new Map<string, ColumnFacts>();
const DECODED_MAX = 1000;

export function decodeFacts(code: string): ColumnFacts {
  const known = decoded.get(code);
  if (known !== undefined) return known;
  const facts = readFacts(code);
  if (decoded.size < DECODED_MAX) decoded.set(code, facts);
  return facts;
}

function readFacts(code: string): ColumnFacts {
  if (code === 't') return TEXT;
  const [, scale = '', idle, plain] = /^(\*|\d*)(z?)(p?)$/.exec(code) ?? [];
  return { text: false, scale: scale === '*' ? -1 : Number(scale), idle: idle === 'z', plain: plain === 'p' };
}

/** @returns for each column, in its order, what was seen of it */
export function encodeTypes(columns: readonly string[], types: ColumnTypes): string[] {
  return columns.map((column) => encodeFacts(types.get(column) ?? NOTHING));
}

/** What was seen of the columns of all blocks of rows together. */
export function joinTypes(blocks: readonly TypedColumns[]): ColumnTypes {
  const joined = new Map<string, ColumnFacts>();
  for (const { columns, types = [] } of blocks) {
    for (const [at, column] of columns.entries()) {
      const facts = decodeFacts(types[at] ?? '');
      const before = joined.get(column);
      joined.set(column, before === undefined ? facts : addFacts(before, facts));
    }
  }
  return joined;
}

/** Columns whose numbers have to become texts, each with what was seen of it. */
export type Rewrite = readonly (readonly [column: string, facts: string])[];

/**
 * @returns for each block what has to be rewritten before it is joined to the others, null for most
 */
export function rewritesFor(blocks: readonly TypedColumns[]): (Rewrite | null)[] {
  if (areSame(blocks)) return blocks.map(() => null);
  const joined = joinTypes(blocks);
  const texts = new Set(
    [...joined].filter(([column, facts]) => holdsTexts(column, facts)).map(([column]) => column),
  );
  if (texts.size === 0) return blocks.map(() => null);
  return blocks.map(({ columns, types = [] }) => {
    const rewrite = columns
      .map((column, at): [string, string] => [column, types[at] ?? ''])
      .filter(([column, code]) => code !== '' && texts.has(column) && !holdsTexts(column, decodeFacts(code)));
    return rewrite.length === 0 ? null : rewrite;
  });
}

/** Of the same facts, as days of one answer from a store are: what holds texts in one of them does so in all. */
function areSame(blocks: readonly TypedColumns[]): boolean {
  const [first] = blocks;
  return blocks.every(({ columns, types }) => columns === first?.columns && types === first.types);
}

/**
 * Turns numbers of some columns into texts, with the zeros they had where all had the same count of digits.
 * @param rowsText rows as compact JSON, joined by `separator`
 */
export function rewriteRows(rowsText: string, rewrite: Rewrite, separator: string): string {
  const rows = parseJson(`[${rowsText}]`, { maxDepth: 1_000 }) as JsonArray;
  const wanted = new Map(rewrite.map(([column, code]) => [column, decodeFacts(code)]));
  const places = new Map<readonly string[], readonly (ColumnFacts | undefined)[]>();
  return rows
    .map((row) => {
      if (!(row instanceof JsonObject)) throw new TypeError('a row is not an object');
      const facts = places.get(row.names) ?? row.names.map((name) => wanted.get(name));
      places.set(row.names, facts);
      const values = row.values.map((value, at) => {
        const seen = facts[at];
        return seen !== undefined && value instanceof JsonNumber ? padded(value.text, seen) : value;
      });
      return writeJson(new JsonObject(row.names, values));
    })
    .join(separator);
}

function padded(number: string, { scale, plain }: ColumnFacts): string {
  const point = number.indexOf('.');
  if (scale <= 0 || (point < 0 && plain)) return number;
  const digits = point < 0 ? 0 : number.length - point - 1;
  return `${number}${point < 0 ? '.' : ''}${'0'.repeat(Math.max(0, scale - digits))}`;
}
