/** Rows as CSV (RFC 4180), safe to open in a spreadsheet. */

import { type Json, type JsonArray, JsonNumber, JsonObject, parseJson, writeJson } from './json.js';

export interface CsvOptions {
  /** Whether a byte order mark goes in front, by which Excel knows UTF-8. */
  readonly bom: boolean;
}

/** Rows that each bring names of their own would make a table of their number squared, nearly all of it commas. */
const MAX_CELLS = 50_000_000;
const MAY_START_FORMULA = /^[=+\-@\p{Cc}]/u;
/**
 * A spreadsheet set to another separator splits inside of a text, quoted or not: in the middle of a line it knows no
 * quotes. What then stands in front is a cell's beginning, too.
 */
const FORMULA_AFTER_SEPARATOR = /([;\t\r\n]"*)(?=[=+\-@])/g;
const NEEDS_QUOTES = /[",;\t\r\n]|^ | $/;

/**
 * A header of the column names, then a record a row, each ended by CRLF. Null and absent members are empty, nested
 * values are compact JSON, numbers keep their JSON text. A text that a spreadsheet could take for a formula
 * (`= + - @` or a control character in front) gets a leading `'`, column names too. So does what follows a `;`, a tab
 * or a line break inside of a text, for some spreadsheets begin a cell there; such a text is quoted in any case.
 *
 * @param rowsText rows as compact JSON, joined by `,\n`
 * @param columns names of the rows' members, distinct
 * @returns the empty text when there are no rows or no columns
 * @throws {JsonError | TypeError} when the text is not one of rows
 * @throws {RangeError} when rows times columns exceed 50 million cells
 */
export function toCsv(rowsText: string, columns: readonly string[], { bom }: CsvOptions): string {
  if (rowsText === '' || columns.length === 0) return '';
  const rows = parseJson(`[${rowsText}]`, { maxDepth: 1_000 }) as JsonArray;
  if (rows.length * columns.length > MAX_CELLS) throw new RangeError(`more than ${MAX_CELLS} cells`);
  const records = [record(columns.map(textCell))];
  const places = new Map<readonly string[], readonly number[]>();
  for (const row of rows) {
    if (!(row instanceof JsonObject)) throw new TypeError('a row is not an object');
    const { names, values } = row;
    const at = places.get(names) ?? columns.map((column) => names.indexOf(column));
    places.set(names, at);
    records.push(record(at.map((index) => cell(values[index]))));
  }
  return `${bom ? '\ufeff' : ''}${records.join('')}`;
}

function record(cells: readonly string[]): string {
  const line = cells.join();
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
  return `"${text.replace(FORMULA_AFTER_SEPARATOR, "$1'").replaceAll('"', '""')}"`;
}
