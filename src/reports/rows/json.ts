/**
 * Lossless JSON (RFC 8259). Numbers keep their source text, objects the order of their members; `__proto__` is a name like any
 * other. A duplicate member name is an error, because parsers differ in which one they take.
 */
import { createLastUsed } from '../../lib/last-used.js';

/** `text` has the form of RFC 8259, section 6. */
export class JsonNumber {
  constructor(readonly text: string) {}
}

/**
 * An object as two lists of the same length. Objects with the same members share `names`: a table of rows holds its names
 * once, and equal shapes are identical lists.
 */
export class JsonObject {
  constructor(
    readonly names: readonly string[],
    readonly values: readonly Json[],
  ) {}

  /** Linear in the number of members. */
  get(name: string): Json | undefined {
    const at = this.names.indexOf(name);
    return at < 0 ? undefined : this.values[at];
  }
}

export type Json = null | boolean | string | JsonNumber | JsonArray | JsonObject;
export interface JsonArray extends ReadonlyArray<Json> {}

/** `Array.isArray` does not narrow read-only lists. */
export function isJsonArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** Compact JSON, without raw line breaks; lone surrogates are escaped. @param writeNumber the source text by default */
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
  /** Nesting of arrays and objects, 0 to 1,000 (limit of the stack). Default 64. */
  readonly maxDepth?: number;
  /** Ignores one leading byte order mark (RFC 8259, section 8.1). */
  readonly allowBom?: boolean;
  /** Members of all objects together, and items of all arrays together. Default: unlimited. */
  readonly maxMembers?: number;
  readonly maxItems?: number;
  /** Members in one item of an outermost list, nested ones included. Default: unlimited. */
  readonly maxPerItem?: number;
}

interface Cursor {
  readonly text: string;
  readonly maxDepth: number;
  /** Remaining budget. */
  members: number;
  items: number;
  readonly maxPerItem: number;
  /** Remaining budget of the current item of the outermost list; null: in no list. */
  itemMembers: number | null;
  at: number;
  depth: number;
  /** Current name or index by level; undefined before the name was read. */
  readonly path: (string | number | undefined)[];
  /** Shape of the last object by level: rows repeat it, and comparing is faster than parsing. */
  readonly shapes: Shape[];
  readonly interned: Map<string, Shape>;
}

/** @throws JsonError for invalid JSON, a duplicate member name, or an exceeded limit */
export function parseJson(text: string, options: ParseOptions = {}): Json {
  const { maxDepth = 64, allowBom = false, maxMembers = Number.POSITIVE_INFINITY } = options;
  const { maxItems = Number.POSITIVE_INFINITY, maxPerItem = Number.POSITIVE_INFINITY } = options;
  if (!(maxDepth >= 0 && maxDepth <= 1_000)) throw new RangeError('maxDepth must be 0 to 1000');
  const at = allowBom && text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const limits = { maxDepth, members: maxMembers, items: maxItems, maxPerItem, itemMembers: null };
  const cursor: Cursor = { text, ...limits, at, depth: 0, path: [], shapes: [], interned: new Map() };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) fail(cursor, 'text after the end');
  return value;
}

/** Stored rows: compact objects joined by `,\n`. @throws JsonError; TypeError if one is no object */
export function parseRows(rowsText: string): readonly JsonObject[] {
  const rows = parseJson(`[${rowsText}]`, { maxDepth: 1_000 }) as JsonArray;
  if (rows.every((row) => row instanceof JsonObject)) return rows;
  throw new TypeError('a row is not an object');
}

function fail(cursor: Cursor, reason: string): never {
  const path = cursor.path.slice(0, cursor.depth).filter((step) => step !== undefined);
  throw new JsonError(reason, cursor.at, path);
}

/** @returns the code of the next character, NaN at the end of the text */
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

/** Consumes a comma or the closing bracket. @returns whether another item follows */
function hasNext(cursor: Cursor, close: number): boolean {
  const code = skipSpace(cursor);
  if (code !== 0x2c && code !== close) fail(cursor, 'a comma or the closing bracket is missing');
  cursor.at += 1;
  return code !== close;
}

function readArray(cursor: Cursor): JsonArray {
  const level = enter(cursor);
  const items: Json[] = [];
  const isOutermost = cursor.itemMembers === null;
  if (skipSpace(cursor) === 0x5d) cursor.at += 1;
  else {
    do {
      if (isOutermost) cursor.itemMembers = cursor.maxPerItem;
      cursor.path[level] = items.length;
      cursor.items -= 1;
      if (cursor.items < 0) fail(cursor, MANY_ITEMS);
      items.push(readValue(cursor));
    } while (hasNext(cursor, 0x5d));
  }
  if (isOutermost) cursor.itemMembers = null;
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
      if (cursor.itemMembers !== null) {
        cursor.itemMembers -= 1;
        if (cursor.itemMembers < 0) fail(cursor, `more than ${cursor.maxPerItem} members in one item`);
      }
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

/** Compact JSON with the members of every object sorted by name. */
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

/** The message has the place, never a value. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  /** Of a member name; `path` ends with it. */
  readonly isDuplicate: boolean;
  /** More members or list items than allowed. */
  readonly isTooLarge: boolean;

  /** @param position in UTF-16 units. @param path member names and indexes from the root */
  constructor(
    reason: string,
    readonly position: number,
    readonly path: readonly (string | number)[],
  ) {
    const place = path.map((step) => (typeof step === 'number' ? step : JSON.stringify(step.slice(0, 40))));
    super(`${reason} at position ${position}, below $${place.map((step) => `[${step}]`).join('')}`);
    this.isDuplicate = reason === DUPLICATE;
    this.isTooLarge = reason === MANY_ITEMS || reason === MANY_MEMBERS;
  }
}

function endOfSpace(text: string, start: number): number {
  for (let at = start; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

/** @returns the offset after the number, or -1 if there is none */
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

/** @returns the offset after at least one digit, or -1 */
function endOfDigits(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (!(code >= 0x30 && code <= 0x39)) return at === start ? -1 : at;
    at += 1;
  }
}

/** Does not check escapes. @returns the offset after the closing quote, or -1 without one or with a raw control character */
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
  /** The names as written, with quotes and escapes. */
  readonly sources: string[];
  /** Of long lists. */
  index?: Set<string>;
}

const NO_SHAPE: Shape = { names: [], sources: [] };
const LONG_LIST = 16;

/** @returns a new shape with the first members of another */
function beginningOf(shape: Shape, length: number): Shape {
  return { names: shape.names.slice(0, length), sources: shape.sources.slice(0, length) };
}

/** @returns false for a duplicate */
function addName(shape: Shape, name: string, source: string): boolean {
  if (shape.names.length >= LONG_LIST) shape.index ??= new Set(shape.names);
  if (shape.index?.has(name) ?? shape.names.includes(name)) return false;
  shape.index?.add(name);
  shape.names.push(name);
  shape.sources.push(source);
  return true;
}

/** Shapes of earlier documents, by their written names: what is derived from a list of names serves the next answer. */
const shared = createLastUsed<Shape>(256);
/** Of one document, which must not displace all others. */
const MAX_SHARED = 16;
const SHARED_CHARS = 4096;

/** @returns the first of equal shapes, so that rows with and without an optional member share two */
function interned(shapes: Map<string, Shape>, shape: Shape): Shape {
  const key = shape.sources.join();
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const isShared = shapes.size < MAX_SHARED && key.length <= SHARED_CHARS;
  const first = isShared ? (shared.get(key) ?? share(shape)) : shape;
  shapes.set(key, first);
  return first;
}

function share(shape: Shape): Shape {
  const own = { names: shape.names.map(ownText), sources: shape.sources.map(ownText) };
  shared.set(own.sources.join(), own);
  return own;
}

/** A copy: a substring would keep the whole document in memory. */
export function ownText(piece: string): string {
  return JSON.parse(JSON.stringify(piece));
}
