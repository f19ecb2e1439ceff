/** A paged table: the first page, and compressed further pages. */
import { gzipSync } from 'node:zlib';
import { type Caps, CURSOR_CHARS, type Page, pagesOf, writePage } from './pages.js';
import type { Table } from './table.js';

export interface PackOptions {
  readonly caps: Caps;
  /** Name of a stored result, for its cursors. */
  readonly walk: string;
}

export interface Packed {
  readonly first: Page;
  readonly totalRows: number;
  readonly columns: readonly string[];
  /** Compressed pages after the first; null if they exceed the limits. */
  readonly further: readonly Uint8Array[] | null;
}

/** Of one stored result. */
export const RESULT_LIMITS = { pages: 10_000, bytes: 16_777_216 } as const;

/** Fast and small enough: rows of numbers shrink to a fifth. */
const LEVEL = { level: 1 };

/** @throws GatewayError `invalid_query` if a row does not fit */
export function packTable(table: Table, { caps, walk }: PackOptions): Packed {
  const { rowCount: totalRows, columns } = table;
  const pages = pagesOf(table, caps);
  const packed = (further: Packed['further']) => ({ first, totalRows, columns, further });
  const first = pages.next().value as Page;
  if (totalRows / caps.maxRows > RESULT_LIMITS.pages) return packed(null);
  const further: Uint8Array[] = [];
  let bytes = 0;
  let next = pages.next();
  while (next.done !== true) {
    const page = next.value;
    next = pages.next();
    const isLast = next.done === true;
    const cursor = isLast ? null : cursorOf(walk, further.length + 2);
    const body = gzipSync(writePage(page, totalRows, cursor, !isLast), LEVEL);
    further.push(body);
    bytes += body.length;
    if (bytes > RESULT_LIMITS.bytes || further.length > RESULT_LIMITS.pages) return packed(null);
  }
  return packed(further);
}

export function cursorOf(walk: string, page: number): string {
  return `${walk}.${page}`.slice(0, CURSOR_CHARS);
}
