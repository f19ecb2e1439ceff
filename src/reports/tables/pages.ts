/** Splits tables into pages for agents: within the caps, and never truncated silently. Pure. */
import { invalidQuery } from '../../errors.js';
import type { Table } from './table.js';

export interface Caps {
  readonly maxRows: number;
  /** Of one result as JSON, in UTF-8. */
  readonly maxBytes: number;
}

/** A page without its head: total rows and next cursor. */
export interface Page {
  /** The members about it, its columns and its rows: JSON without the brace that opens it. */
  readonly rest: string;
}

/** As long as a cursor may be. */
export const CURSOR_CHARS = 48;

/** Texts are shortened to so many characters where a row does not fit, the longest first. */
const SHORTER = [2000, 400, 80] as const;

/**
 * @returns at least one page, each made when it is reached; the rows of all together are the rows of the table, in their
 *   order
 * @throws GatewayError `invalid_query` where not even one row fits
 */
export function* pagesOf({ about, columns, rows, rowCount }: Table, caps: Caps): Generator<Page, void> {
  const { maxRows, maxBytes } = caps;
  const head = `${membersOf(about)}"columns":${JSON.stringify(columns)},`;
  const room = maxBytes - bytesOf(frontOf(rowCount, 'x'.repeat(CURSOR_CHARS))) - bytesOf(head) - TAIL_BYTES;
  if (room < 0) throw tooMuchBeside(bytesOf(head), maxBytes);
  let texts: string[] = [];
  let [used, shortened, given] = [0, 0, 0];
  const close = (): Page => {
    const note = shortened === 0 ? '' : `"shortenedCells":${shortened},`;
    const page = { rest: `${head}${note}"rows":[${texts.join(',')}]}` };
    [texts, used, shortened, given] = [[], 0, 0, given + 1];
    return page;
  };
  for (const row of rows) {
    const fitted = fitRow(row, room);
    if (fitted === null) throw tooWide(columns, maxBytes);
    const bytes = fitted.bytes + 1;
    if (texts.length > 0 && (texts.length >= maxRows || used + bytes > room + 1)) yield close();
    texts.push(fitted.text);
    used += bytes;
    shortened += fitted.shortened;
  }
  if (texts.length > 0 || given === 0) yield close();
}

/** A page as it is given. @param next null where nothing follows, or nothing can be kept */
export function writePage(page: Page, totalRows: number, next: string | null, truncated: boolean): string {
  return `${frontOf(totalRows, next, truncated)}${page.rest}`;
}

function frontOf(totalRows: number, next: string | null, truncated = false): string {
  return `{"truncated":${truncated},"totalRows":${totalRows},"next":${JSON.stringify(next)},`;
}

/** What closes a page, with the note about texts that were shortened. */
const TAIL_BYTES = bytesOf('"shortenedCells":9999999,"rows":[]}');

function membersOf(about: Table['about']): string {
  const text = JSON.stringify(about).slice(1, -1);
  return text === '' ? '' : `${text},`;
}

interface FittedRow {
  readonly text: string;
  readonly bytes: number;
  /** Cells of it whose text was shortened. */
  readonly shortened: number;
}

function fitRow(row: readonly unknown[], room: number): FittedRow | null {
  const text = JSON.stringify(row);
  const bytes = bytesOf(text);
  if (bytes <= room) return { text, bytes, shortened: 0 };
  for (const most of SHORTER) {
    let shortened = 0;
    const cells = row.map((cell) => {
      const long = typeof cell === 'string' ? cell : isNested(cell) ? JSON.stringify(cell) : null;
      if (long === null || long.length <= most) return cell;
      shortened += 1;
      return `${cut(long, most)}… (${long.length} characters)`;
    });
    const shorter = JSON.stringify(cells);
    const size = bytesOf(shorter);
    if (size <= room) return { text: shorter, bytes: size, shortened };
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

/** Totals, warnings, or the question itself. */
function tooMuchBeside(bytes: number, maxBytes: number) {
  return invalidQuery({
    param: 'columns',
    message: `the metadata takes ${bytes} of the ${maxBytes} bytes of a result: request fewer columns or filters, or no totals`,
  });
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
