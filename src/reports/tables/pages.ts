/** Splits tables into pages for assistants, within the caps, and never truncates silently. Pure. */
import { invalidQuery } from '../../errors.js';
import type { Table } from './table.js';

export interface Caps {
  readonly maxRows: number;
  /** Of one result as JSON, in UTF-8. */
  readonly maxBytes: number;
}

/** A page without total rows and next cursor. */
export interface Page {
  /** Metadata, columns and rows: JSON without the opening brace. */
  readonly rest: string;
}

/** Maximum length of a cursor. */
export const CURSOR_CHARS = 48;

/** Lengths to which texts are shortened until a row fits. */
const SHORTER = [2000, 400, 80] as const;

/** At least one page, made lazily. @throws GatewayError `invalid_query` if a single row does not fit */
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

/** @param next cursor; null if nothing follows, or if further pages cannot be stored */
export function writePage(page: Page, totalRows: number, next: string | null, truncated: boolean): string {
  return `${frontOf(totalRows, next, truncated)}${page.rest}`;
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

/** @returns its text, its bytes and the number of cells with shortened text; null if it does not fit */
function fitRow(row: readonly unknown[], room: number) {
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
