/** Signs that an answer is one page of several. */

import { type Json, JsonNumber, JsonObject } from './json.js';
import { camelCase } from './row-names.js';

/** The platform's numbers; null: absent. */
export interface Paging {
  readonly page: number | null;
  readonly pages: number | null;
  readonly perPage: number | null;
  readonly total: number | null;
}

const HOLDERS = new Set(['meta', 'links', 'paging', 'pagination', 'pageInfo']);
const NAMES = {
  page: ['currentPage', 'page', 'pageNumber'],
  pages: ['lastPage', 'totalPages', 'pageCount', 'pages'],
  perPage: ['perPage', 'pageSize', 'limit'],
  total: ['total', 'totalCount', 'totalRows', 'totalResults'],
  next: ['next', 'nextPage', 'nextPageUrl', 'nextLink', 'nextCursor', 'nextPageToken'],
  more: ['hasMore', 'hasNext', 'hasNextPage', 'hasMorePages'],
} as const;

/**
 * @param containers objects around the rows, the outermost first
 * @returns null if neither numbers nor a link to a next page indicate further rows
 */
export function readPaging(containers: readonly JsonObject[], rowCount: number): Paging | null {
  const members = new Map<string, Json>();
  for (const container of containers) gather(container, members, 0);
  const number = (names: readonly string[]): number | null => firstOf(members, names, countIn);
  const paging = {
    page: number(NAMES.page),
    pages: number(NAMES.pages),
    perPage: number(NAMES.perPage),
    total: number(NAMES.total),
  };
  const partial =
    firstOf(members, NAMES.next, linkIn) !== null ||
    firstOf(members, NAMES.more, (value) => (value === true ? value : null)) !== null ||
    (paging.pages !== null && paging.pages > 1) ||
    (paging.total !== null && paging.total > rowCount);
  return partial ? paging : null;
}

/** Collects members of an object and of its paging objects, by camelCase name; the first one counts. */
function gather(object: JsonObject, members: Map<string, Json>, depth: number): void {
  for (const [index, name] of object.names.entries()) {
    const value = object.values[index] as Json;
    const column = camelCase(name);
    if (!(value instanceof JsonObject)) {
      if (!members.has(column)) members.set(column, value);
    } else if (depth < 2 && HOLDERS.has(column)) gather(value, members, depth + 1);
  }
}

function firstOf<T>(
  members: ReadonlyMap<string, Json>,
  names: readonly string[],
  read: (value: Json) => T | null,
): T | null {
  for (const name of names) {
    const result = read(members.get(name) ?? null);
    if (result !== null) return result;
  }
  return null;
}

function countIn(value: Json): number | null {
  const text = value instanceof JsonNumber ? value.text : value;
  return typeof text === 'string' && /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

function linkIn(value: Json): Json {
  return value instanceof JsonNumber || (typeof value === 'string' && value !== '') ? value : null;
}
