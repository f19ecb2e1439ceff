/**
 * Whether a column contains numbers or text, decided by all of its cells. The facts are stored with the rows, so that days
 * stored separately can be joined with one type per column. Facts only accumulate: a text column remains text in every join.
 */

import { numberInString, numberTokenJson } from './decimal.js';
import { JsonNumber, JsonObject, parseRows, writeJson } from './json.js';
import { isMeasure, isVersion } from './row-names.js';

/** Facts about the cells of one column. */
export interface ColumnFacts {
  /** A text that is no number, or a number that a double cannot represent. */
  readonly text: boolean;
  /** Decimal places of texts: their common count, 0 for none, -1 if they differ. */
  readonly scale: number;
  /** A text would lose trailing zeros as a number. */
  readonly idle: boolean;
  /** A number without decimal point, or a JSON number. */
  readonly plain: boolean;
}

export type ColumnTypes = ReadonlyMap<string, ColumnFacts>;

/** Nothing but nulls, flags and nested values. */
const NOTHING: ColumnFacts = { text: false, scale: 0, idle: false, plain: false };
const TEXT: ColumnFacts = { text: true, scale: 0, idle: false, plain: false };
const PLAIN: ColumnFacts = { text: false, scale: 0, idle: false, plain: true };

/** @param isText whether the column contains text by its name */
export function factsOfText(value: string, isText: boolean): ColumnFacts {
  if (value === '') return NOTHING;
  const number = isText ? null : numberInString(value);
  if (number === null) return TEXT;
  const point = value.indexOf('.');
  if (point < 0) return PLAIN;
  return decimal(value.length - point - 1, number.length < value.length);
}

/** Memoized: there are few, for many cells. */
const DECIMALS: ColumnFacts[] = [];

function decimal(scale: number, idle: boolean): ColumnFacts {
  const at = scale * 2 + (idle ? 1 : 0);
  DECIMALS[at] ??= { text: false, scale, idle, plain: false };
  return DECIMALS[at];
}

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
 * Decimals of one scale are numbers, as written by a database. With several scales and trailing zeros they are not (`10.1` and
 * `10.10` are two versions), unless the name is one of a measure.
 */
export function holdsTexts(column: string, { text, scale, idle }: ColumnFacts): boolean {
  return text || (idle && (isVersion(column) || (scale === -1 && !isMeasure(column))));
}

interface TypedColumns {
  readonly columns: readonly string[];
  /** Facts of each column, from {@link encodeFacts}; absent: unknown. */
  readonly types?: readonly string[];
}

function encodeFacts({ text, scale, idle, plain }: ColumnFacts): string {
  if (text) return 't';
  return `${scale === -1 ? '*' : scale === 0 ? '' : scale}${idle ? 'z' : ''}${plain ? 'p' : ''}`;
}

/** Memoized: there are few, for each column of each day. */
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

/** By columns, and by their text: the one list of all equal ones, so that days are compared by identity. */
const encoded = new WeakMap<readonly string[], Map<string, readonly string[]>>();
const ENCODED_MAX = 100;

export function encodeTypes(columns: readonly string[], types: ColumnTypes): readonly string[] {
  const codes = columns.map((column) => encodeFacts(types.get(column) ?? NOTHING));
  const known = encoded.get(columns) ?? new Map<string, readonly string[]>();
  const text = codes.join();
  const first = known.get(text);
  if (first !== undefined) return first;
  if (known.size < ENCODED_MAX) encoded.set(columns, known.set(text, codes));
  return codes;
}

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

/** Columns whose numbers become text, with their facts. */
export type Rewrite = readonly (readonly [column: string, facts: string])[];

/** @returns what must be rewritten in each block before they are joined; mostly null */
export function rewritesFor(blocks: readonly TypedColumns[]): (Rewrite | null)[] {
  const different = distinct(blocks);
  if (different.length < 2) return blocks.map(() => null);
  const joined = joinTypes(different);
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

/** Without those whose lists are identical to those of another, as of most days of one answer. */
export function distinct<T extends TypedColumns>(blocks: readonly T[]): readonly T[] {
  const found: T[] = [];
  for (const block of blocks)
    if (!found.some(({ columns, types }) => columns === block.columns && types === block.types))
      found.push(block);
  return found;
}

/** Turns numbers of some columns into text, with their original zeros if all had the same scale. */
export function rewriteRows(rowsText: string, rewrite: Rewrite, separator: string): string {
  const wanted = new Map(rewrite.map(([column, code]) => [column, decodeFacts(code)]));
  const places = new Map<readonly string[], readonly (ColumnFacts | undefined)[]>();
  return parseRows(rowsText)
    .map((row) => {
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
