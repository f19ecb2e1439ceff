/**
 * Lossless JSON (RFC 8259): what `JSON.parse` rounds or merges is kept, or refused.
 *
 * Numbers keep their source text, objects keep the order of their members, `__proto__` and `constructor` are
 * names like any other, and a name given twice is an error, for two readers may take it two ways.
 */

/** A number as it was written; its text always has the form of RFC 8259, section 6. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * An object as two lists of one length. `names` is shared by neighbouring objects with the same members, so
 * that a table of rows holds its names once and equal shapes can be told by identity.
 */
export class JsonObject {
  readonly names: readonly string[];
  readonly values: readonly Json[];

  constructor(names: readonly string[], values: readonly Json[]) {
    this.names = names;
    this.values = values;
  }

  /** @returns the member's value, `undefined` when there is none. Takes time in proportion to the members. */
  get(name: string): Json | undefined {
    const at = this.names.indexOf(name);
    return at < 0 ? undefined : this.values[at];
  }
}

export type Json = null | boolean | string | JsonNumber | JsonArray | JsonObject;
export interface JsonArray extends ReadonlyArray<Json> {}

/** `Array.isArray`, which by itself does not narrow read-only lists. */
export function isJsonArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value);
}

/**
 * Writes compact JSON: no spaces and never a raw line break. Lone surrogates are written as escapes.
 *
 * @param writeNumber gives a number's JSON; by default its source text.
 */
export function writeJson(value: Json, writeNumber = (number: JsonNumber): string => number.text): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof JsonNumber) return writeNumber(value);
  if (value instanceof JsonObject) {
    const members = value.values.map(
      (member, index) => `${JSON.stringify(value.names[index])}:${writeJson(member, writeNumber)}`,
    );
    return `{${members.join(',')}}`;
  }
  if (isJsonArray(value)) return `[${value.map((item) => writeJson(item, writeNumber)).join(',')}]`;
  return String(value);
}

interface ParseOptions {
  /** How many arrays and objects may stand in one another: 0 to 1,000, so that the stack suffices. Default 64. */
  readonly maxDepth?: number;
  /** Whether one byte order mark in front is overlooked (section 8.1 leaves it to the reader). Default false. */
  readonly allowBom?: boolean;
  /** How many members all objects together, and how many items all arrays together, may have. Default: any number. */
  readonly maxMembers?: number;
  readonly maxItems?: number;
}

interface Cursor {
  readonly text: string;
  readonly maxDepth: number;
  /** How many more there may be. */
  members: number;
  items: number;
  at: number;
  depth: number;
  /** The name or index being read, by level; undefined while it is not known. */
  readonly path: (string | number | undefined)[];
  /** The shape of the last object, by level: rows repeat it, and comparing is quicker than reading. */
  readonly shapes: Shape[];
  /** Every shape met. */
  readonly interned: Map<string, Shape>;
}

/**
 * Reads one JSON text.
 *
 * @throws {JsonError} for whatever RFC 8259 does not allow, a duplicate member name, or too deep a nesting.
 */
export function parseJson(text: string, options: ParseOptions = {}): Json {
  const { maxDepth = 64, allowBom = false, maxMembers = Number.POSITIVE_INFINITY } = options;
  const { maxItems = Number.POSITIVE_INFINITY } = options;
  if (!(maxDepth >= 0 && maxDepth <= 1_000)) throw new RangeError('maxDepth must be 0 to 1000');
  const at = allowBom && text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const limits = { maxDepth, members: maxMembers, items: maxItems };
  const cursor: Cursor = { text, ...limits, at, depth: 0, path: [], shapes: [], interned: new Map() };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) fail(cursor, 'text after the end');
  return value;
}

function fail(cursor: Cursor, reason: string): never {
  const path = cursor.path.slice(0, cursor.depth).filter((step) => step !== undefined);
  throw new JsonError(reason, cursor.at, path);
}

/** Moves to the next character that is not white space. @returns its code, NaN at the end of the text. */
function skipSpace(cursor: Cursor): number {
  cursor.at = endOfSpace(cursor.text, cursor.at);
  return cursor.text.charCodeAt(cursor.at);
}

function readValue(cursor: Cursor): Json {
  switch (skipSpace(cursor)) {
    case 0x7b:
      return readObject(cursor);
    case 0x5b:
      return readArray(cursor);
    case 0x22:
      return readString(cursor);
    case 0x74:
      return readWord(cursor, 'true', true);
    case 0x66:
      return readWord(cursor, 'false', false);
    case 0x6e:
      return readWord(cursor, 'null', null);
    default:
      return readNumber(cursor);
  }
}

function enter(cursor: Cursor): number {
  if (cursor.depth >= cursor.maxDepth) fail(cursor, `more than ${cursor.maxDepth} levels`);
  cursor.at += 1;
  cursor.depth += 1;
  return cursor.depth - 1;
}

/** Passes the comma between two items, or the closing bracket. @returns whether another item follows. */
function hasNext(cursor: Cursor, close: number): boolean {
  const code = skipSpace(cursor);
  if (code !== 0x2c && code !== close) fail(cursor, 'a comma or the closing bracket is missing');
  cursor.at += 1;
  return code !== close;
}

function readArray(cursor: Cursor): JsonArray {
  const level = enter(cursor);
  const items: Json[] = [];
  if (skipSpace(cursor) === 0x5d) cursor.at += 1;
  else {
    do {
      cursor.path[level] = items.length;
      cursor.items -= 1;
      if (cursor.items < 0) fail(cursor, MANY_ITEMS);
      items.push(readValue(cursor));
    } while (hasNext(cursor, 0x5d));
  }
  cursor.depth -= 1;
  return items;
}

function readObject(cursor: Cursor): JsonObject {
  const level = enter(cursor);
  const known = cursor.shapes[level] ?? NO_SHAPE;
  let shape = known;
  const values: Json[] = [];
  if (skipSpace(cursor) === 0x7d) cursor.at += 1;
  else {
    do {
      cursor.members -= 1;
      if (cursor.members < 0) fail(cursor, MANY_MEMBERS);
      skipSpace(cursor);
      const expected = shape === known ? known.sources[values.length] : undefined;
      if (expected !== undefined && cursor.text.startsWith(expected, cursor.at)) cursor.at += expected.length;
      else {
        if (shape === known) shape = beginningOf(known, values.length);
        readName(cursor, shape, level);
      }
      cursor.path[level] = shape.names[values.length];
      if (skipSpace(cursor) !== 0x3a) fail(cursor, 'a colon is missing');
      cursor.at += 1;
      values.push(readValue(cursor));
    } while (hasNext(cursor, 0x7d));
  }
  if (values.length < shape.names.length) shape = beginningOf(shape, values.length);
  if (shape !== known) shape = interned(cursor.interned, shape);
  cursor.shapes[level] = shape;
  cursor.depth -= 1;
  return new JsonObject(shape.names, values);
}

function readName(cursor: Cursor, shape: Shape, level: number): void {
  cursor.path[level] = undefined;
  const start = cursor.at;
  if (cursor.text.charCodeAt(start) !== 0x22) fail(cursor, 'a member name is missing');
  const name = readString(cursor);
  if (!addName(shape, name, cursor.text.slice(start, cursor.at))) {
    cursor.at = start;
    cursor.path[level] = name;
    fail(cursor, DUPLICATE);
  }
}

function readString(cursor: Cursor): string {
  const start = cursor.at;
  const end = endOfString(cursor.text, start);
  if (end < 0) fail(cursor, 'a string without end, or with a control character');
  const content = cursor.text.slice(start + 1, end - 1);
  const value = content.includes('\\') ? readEscapes(cursor, end) : content;
  cursor.at = end;
  return value;
}

function readEscapes(cursor: Cursor, end: number): string {
  try {
    return JSON.parse(cursor.text.slice(cursor.at, end));
  } catch {
    fail(cursor, 'a string with a bad escape');
  }
}

function readWord<T>(cursor: Cursor, word: string, value: T): T {
  if (!cursor.text.startsWith(word, cursor.at)) fail(cursor, 'not a JSON value');
  cursor.at += word.length;
  return value;
}

function readNumber(cursor: Cursor): JsonNumber {
  const start = cursor.at;
  const end = endOfNumber(cursor.text, start);
  if (end < 0) fail(cursor, 'not a JSON value');
  cursor.at = end;
  return new JsonNumber(cursor.text.slice(start, end));
}

/** Compact JSON with the members of every object sorted by name; numbers and lists as they were. */
export function sortedJson(json: Json): string {
  if (isJsonArray(json)) return `[${json.map(sortedJson).join(',')}]`;
  if (!(json instanceof JsonObject)) return writeJson(json);
  const members = json.names.map((name, index): [string, Json] => [name, json.values[index] as Json]);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${sortedJson(value)}`).join(',')}}`;
}

const DUPLICATE = 'a duplicate member name';
const MANY_ITEMS = 'more list items than are allowed';
const MANY_MEMBERS = 'more members than are allowed';

/** A text that is not JSON as read here. The message names the place, never a value. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  /** Offset of the fault in UTF-16 units. */
  readonly position: number;
  /** Member names and indexes from the root to the fault. */
  readonly path: readonly (string | number)[];
  /** Whether a member name was given twice; the path ends with it. */
  readonly isDuplicate: boolean;
  /** Whether it has more members or list items than are allowed. */
  readonly isTooLarge: boolean;

  constructor(reason: string, position: number, path: readonly (string | number)[]) {
    const place = path.map((step) => (typeof step === 'number' ? step : JSON.stringify(step.slice(0, 40))));
    super(`${reason} at position ${position}, below $${place.map((step) => `[${step}]`).join('')}`);
    this.position = position;
    this.path = path;
    this.isDuplicate = reason === DUPLICATE;
    this.isTooLarge = reason === MANY_ITEMS || reason === MANY_MEMBERS;
  }
}

/** @returns the offset behind the white space that may stand at `start`. */
function endOfSpace(text: string, start: number): number {
  for (let at = start; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

/** @returns the offset behind the number that starts at `start`, or -1 when there is none. */
function endOfNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  at = text.charCodeAt(at) === 0x30 ? at + 1 : endOfDigits(text, at);
  if (at > 0 && text.charCodeAt(at) === 0x2e) at = endOfDigits(text, at + 1);
  if (at > 0 && (text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charCodeAt(at + 1);
    at = endOfDigits(text, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

/** @returns the offset behind one or more digits, or -1 when there is none. */
function endOfDigits(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!(code >= 0x30 && code <= 0x39)) return at === start ? -1 : at;
    at += 1;
  }
}

/**
 * @returns the offset behind the closing quote of the string whose opening quote is at `start`, or -1 when it
 * has none or holds a raw control character. Whether its escapes are good is not looked at.
 */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) at += 1;
    else if (!(code >= 0x20)) return -1;
  }
}

interface Shape {
  readonly names: string[];
  /** The names as they stand in the text, with quotes and escapes. */
  readonly sources: string[];
  /** The names again, once there are so many that a list is slow to search. */
  index?: Set<string>;
}

const NO_SHAPE: Shape = { names: [], sources: [] };
const LONG_LIST = 16;

/** @returns a shape of its own with the first members of another. */
function beginningOf(shape: Shape, length: number): Shape {
  return { names: shape.names.slice(0, length), sources: shape.sources.slice(0, length) };
}

/** Adds a name at the end. @returns false when the shape has it already. */
function addName(shape: Shape, name: string, source: string): boolean {
  if (shape.names.length >= LONG_LIST) shape.index ??= new Set(shape.names);
  if (shape.index?.has(name) ?? shape.names.includes(name)) return false;
  shape.index?.add(name);
  shape.names.push(name);
  shape.sources.push(source);
  return true;
}

/** @returns of equal shapes the one met first, so that rows with and without an optional member share two. */
function interned(shapes: Map<string, Shape>, shape: Shape): Shape {
  const key = shape.sources.join();
  const first = shapes.get(key);
  if (first === undefined) shapes.set(key, shape);
  return first ?? shape;
}
