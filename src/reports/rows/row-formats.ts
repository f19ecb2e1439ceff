/** Rows in other formats: CSV, NDJSON, and some of their columns (`_fields`). */

import { type Json, JsonNumber, type JsonObject, parseRows, writeJson } from './json.js';

const MAX_CELLS = 50_000_000;
/** Rows with different names each would make a table of mostly commas, quadratic in the rows. */
const FREE_CELLS = 1_000_000;
const LEAST_FILLED = 0.01;
const MAY_START_FORMULA = /^[=+\-@\p{Cc}]/u;
const NEEDS_QUOTES = /[",;\t\r\n]|^ | $/;

/**
 * CSV (RFC 4180) with a header, safe to open in a spreadsheet. Null and absent members are empty, nested values compact JSON;
 * numbers keep their text. A text or column name that a spreadsheet could take for a formula (starts with `= + - @` or a
 * control character) gets a leading `'`.
 * @param columns distinct
 * @param options `bom`: a byte order mark, by which Excel recognizes UTF-8
 * @returns the empty text without rows or columns
 * @throws JsonError, TypeError; RangeError beyond 50 million cells, or beyond a million of which 99 % are empty
 */
export function toCsv(
  rowsText: string,
  columns: readonly string[],
  { bom }: { readonly bom: boolean },
): string {
  if (rowsText === '' || columns.length === 0) return '';
  const rows = parseRows(rowsText);
  checkSize(rows, rows.length * columns.length);
  const index = new Map(columns.map((column, at) => [column, at]));
  const records = [ended(columns.map(textCell).join())];
  const places = new Map<readonly string[], readonly CellPlace[]>();
  for (const { names, values } of rows) {
    const at = places.get(names) ?? placesOf(names, index);
    places.set(names, at);
    records.push(record(values, at, columns.length));
  }
  return `${bom ? '\ufeff' : ''}${records.join('')}`;
}

function checkSize(rows: readonly JsonObject[], cells: number): void {
  if (cells > MAX_CELLS) throw new RangeError(`more than ${MAX_CELLS} cells`);
  if (cells <= FREE_CELLS) return;
  const filled = rows.reduce((sum, { values }) => sum + values.length, 0);
  if (filled < cells * LEAST_FILLED) throw new RangeError(`${filled} of ${cells} cells are filled`);
}

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

/** Absent members cost a comma and no lookup. */
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

/** @returns a row and `\n` for each line. Compact JSON contains no other raw line break */
export function toNdjson(rowsText: string): string {
  if (rowsText === '') return '';
  const lines = rowsText.replaceAll(',\n', '\n');
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${lines.replace(UNICODE_BREAKS, escaped)}\n`;
}

/** Raw in JSON texts they are allowed, but many readers end a line there. */
const UNICODE_BREAKS = /[\u0085\u2028\u2029]/g;

/** Some columns, in this order; a row keeps those that it has. No row is merged, dropped or moved. */
export function projectRows(rowsText: string, fields: readonly string[], separator: string): string {
  if (rowsText === '') return '';
  const prefixes = fields.map((field) => `${JSON.stringify(field)}:`);
  const places = new Map<readonly string[], readonly number[]>();
  return parseRows(rowsText)
    .map(({ names, values }) => {
      const at = places.get(names) ?? fields.map((field) => names.indexOf(field));
      places.set(names, at);
      const members = at.flatMap((place, index) => {
        const value = values[place];
        return value === undefined ? [] : [`${prefixes[index]}${writeJson(value)}`];
      });
      return `{${members.join()}}`;
    })
    .join(separator);
}
