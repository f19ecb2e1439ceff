/** One page of a table for assistants, within the caps; never truncates silently. Pure. */
import { createHash } from 'node:crypto';
import { invalidQuery } from '../../errors.js';
import type { Table } from './table.js';

export interface Caps {
  readonly maxRows: number;
  /** Of one result as JSON, in UTF-8. */
  readonly maxBytes: number;
}

export interface PageAsk {
  readonly caps: Caps;
  /** The first row, from 0. */
  readonly fromRow: number;
  /** Length of a cursor for the next page; 0 if there can be none. */
  readonly cursorChars: number;
}

export interface Page {
  /** Metadata, columns and rows: JSON without the opening brace. */
  readonly rest: string;
  readonly totalRows: number;
  readonly columns: readonly string[];
  /** First row of the next page; null after the last one. */
  readonly nextRow: number | null;
  /** Digest of all rows of the table in their order: tables with equal ones have equal pages. */
  readonly state: string;
  /** Of an answer whose rows can be read again as of this time; ISO. */
  readonly knownAt: string | null;
}

/** Lengths to which texts are shortened until a row fits. */
const SHORTER = [2000, 400, 80] as const;

/** @throws GatewayError `invalid_query` if a row of the table does not fit, on this page or another */
export function pageOf(table: Table, { caps, fromRow, cursorChars }: PageAsk): Page {
  const { about, columns, rows, rowCount: totalRows } = table;
  const { maxRows, maxBytes } = caps;
  const head = `${membersOf(about)}"columns":${JSON.stringify(columns)},`;
  const front = frontOf(totalRows, 'x'.repeat(cursorChars));
  const room = maxBytes - bytesOf(front) - bytesOf(head) - TAIL_BYTES;
  if (room < 0) throw tooMuchBeside(bytesOf(head), maxBytes);
  const identityOf = identifier(table);
  const hash = createHash('sha256').update(JSON.stringify(columns));
  const texts: string[] = [];
  let [at, used, shortened] = [0, 0, 0];
  let nextRow: number | null = null;
  for (const row of rows) {
    const fitted = fitRow(row, room);
    if (fitted === null) throw tooWide(columns, maxBytes);
    hash.update(identityOf(row, fitted.whole));
    if (at >= fromRow && nextRow === null) {
      const bytes = fitted.bytes + 1;
      if (texts.length > 0 && (texts.length >= maxRows || used + bytes > room + 1)) nextRow = at;
      else {
        texts.push(fitted.text);
        used += bytes;
        shortened += fitted.shortened;
      }
    }
    at += 1;
  }
  const note = shortened === 0 ? '' : `"shortenedCells":${shortened},`;
  return {
    totalRows,
    columns,
    nextRow,
    rest: `${head}${note}"rows":[${texts.join(',')}]}`,
    state: hash.digest('base64url').slice(0, STATE_CHARS),
    knownAt: typeof about.knownAt === 'string' ? about.knownAt : null,
  };
}

const STATE_CHARS = 22;

/** @returns what identifies a row: its JSON, unless the table names columns for it */
function identifier({ columns, identity }: Table): (row: readonly unknown[], text: string) => string {
  if (identity === undefined) return (_row, text) => text;
  const places = identity.map((column) => columns.indexOf(column));
  return (row) => JSON.stringify(places.map((place) => row[place]));
}

/** @param next cursor; null if nothing follows, or if it would be too long */
export function writePage({ rest, totalRows, nextRow }: Page, next: string | null): string {
  return `${frontOf(totalRows, next, nextRow !== null)}${rest}`;
}

function frontOf(totalRows: number, next: string | null, truncated = false): string {
  return `{"truncated":${truncated},"totalRows":${totalRows},"next":${JSON.stringify(next)},`;
}

/** The end of a page, with the note about shortened texts. */
const TAIL_BYTES = bytesOf('"shortenedCells":9999999,"rows":[]}');

function membersOf(about: Table['about']): string {
  const text = JSON.stringify(about).slice(1, -1);
  return text === '' ? '' : `${text},`;
}

/** @returns its text, whole and as it fits, its bytes and the number of cells with shortened text; null if it does not fit */
function fitRow(row: readonly unknown[], room: number) {
  const whole = JSON.stringify(row);
  const bytes = bytesOf(whole);
  if (bytes <= room) return { whole, text: whole, bytes, shortened: 0 };
  for (const most of SHORTER) {
    let shortened = 0;
    const cells = row.map((cell) => {
      const long = typeof cell === 'string' ? cell : isNested(cell) ? JSON.stringify(cell) : null;
      if (long === null || long.length <= most) return cell;
      shortened += 1;
      return `${cut(long, most)}… (${long.length} characters)`;
    });
    const text = JSON.stringify(cells);
    const size = bytesOf(text);
    if (size <= room) return { whole, text, bytes: size, shortened };
  }
  return null;
}

const isNested = (cell: unknown): boolean => typeof cell === 'object' && cell !== null;

/** Does not split a surrogate pair. */
function cut(text: string, most: number): string {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

function tooWide({ length }: readonly string[], maxBytes: number) {
  return invalidQuery({
    param: 'columns',
    message: `must be named: a row of all ${length} columns exceeds the limit of ${maxBytes} bytes per result`,
  });
}

/** Totals, warnings, or the query itself. */
function tooMuchBeside(bytes: number, maxBytes: number) {
  return invalidQuery({
    param: 'columns',
    message: `the metadata takes ${bytes} of the ${maxBytes} bytes of a result: request fewer columns or filters, or no totals`,
  });
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
