/** Rows as CSV (RFC 4180), safe to open in a spreadsheet. */

import { type Json, type JsonArray, JsonNumber, JsonObject, parseJson, writeJson } from './json.js';

export interface CsvOptions {
  /** Whether a byte order mark goes in front, by which Excel knows UTF-8. */
  readonly bom: boolean;
}

const MAX_CELLS = 50_000_000;
/** Rows that each bring names of their own would make a table of their number squared, nearly all of it commas. */
const FREE_CELLS = 1_000_000;
const LEAST_FILLED = 0.01;
const MAY_START_FORMULA = /^[=+\-@\p{Cc}]/u;
const NEEDS_QUOTES = /[",;\t\r\n]|^ | $/;

/**
 * A header of the column names, then a record a row, each ended by CRLF. Null and absent members are empty, nested
 * values are compact JSON, numbers keep their JSON text. A text that a spreadsheet could take for a formula
 * (`= + - @` or a control character in front) gets a leading `'`, column names too. What is inside of a text stays as it is.
 *
 * @param rowsText rows as compact JSON, joined by `,\n`
 * @param columns names of the rows' members, distinct
 * @returns the empty text when there are no rows or no columns
 * @throws {JsonError | TypeError} when the text is not one of rows
 * @throws {RangeError} when rows times columns exceed 50 million cells, or a million of which 99 in 100 are empty
 */
export function toCsv(rowsText: string, columns: readonly string[], { bom }: CsvOptions): string {
  if (rowsText === '' || columns.length === 0) return '';
  const rows = parseJson(`[${rowsText}]`, { maxDepth: 1_000 }) as JsonArray;
  checkSize(rows, rows.length * columns.length);
  const index = new Map(columns.map((column, at) => [column, at]));
  const records = [ended(columns.map(textCell).join())];
  const places = new Map<readonly string[], readonly CellPlace[]>();
  for (const row of rows) {
    if (!(row instanceof JsonObject)) throw new TypeError('a row is not an object');
    const { names, values } = row;
    const at = places.get(names) ?? placesOf(names, index);
    places.set(names, at);
    records.push(record(values, at, columns.length));
  }
  return `${bom ? '\ufeff' : ''}${records.join('')}`;
}

function checkSize(rows: JsonArray, cells: number): void {
  if (cells > MAX_CELLS) throw new RangeError(`more than ${MAX_CELLS} cells`);
  if (cells <= FREE_CELLS) return;
  const filled = rows.reduce<number>(
    (sum, row) => sum + (row instanceof JsonObject ? row.values.length : 0),
    0,
  );
  if (filled < cells * LEAST_FILLED) throw new RangeError(`${filled} of ${cells} cells are filled`);
}

/** Where a member of a row goes. */
interface CellPlace {
  readonly member: number;
  readonly column: number;
}

/** In the order of the columns. */
function placesOf(names: readonly string[], index: ReadonlyMap<string, number>): CellPlace[] {
  return names
    .map((name, member) => ({ member, column: index.get(name) ?? -1 }))
    .filter(({ column }) => column >= 0)
    .sort((a, b) => a.column - b.column);
}

/** Members that a row does not have cost their commas, and no look. */
function record(values: readonly Json[], places: readonly CellPlace[], columns: number): string {
  let line = '';
  let last = 0;
  for (const { member, column } of places) {
    line += ','.repeat(column - last) + cell(values[member]);
    last = column;
  }
  return ended(line + ','.repeat(columns - 1 - last));
}

function ended(line: string): string {
  // Readers skip an empty line, and with it a row whose only cell is empty.
  return line === '' ? '""\r\n' : `${line}\r\n`;
}

function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return textCell(value);
  if (value instanceof JsonNumber) return value.text;
  return quoted(writeJson(value));
}

function textCell(text: string): string {
  return quoted(MAY_START_FORMULA.test(text) ? `'${text}` : text);
}

function quoted(text: string): string {
  if (!NEEDS_QUOTES.test(text)) return text;
  return `"${text.replaceAll('"', '""')}"`;
}
