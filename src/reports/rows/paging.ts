/** Signs that an answer is one page of several, in its body and in its headers. */

import { type Json, JsonNumber, JsonObject } from './json.js';
import { camelCase } from './row-names.js';

/** The platform's numbers; null: absent. */
export interface Paging {
  readonly page: number | null;
  readonly pages: number | null;
  readonly perPage: number | null;
  readonly total: number | null;
}

/** What the headers of an answer say. */
export interface PageHeaders {
  readonly hasNext: boolean;
  /** Rows of all pages; null: absent. */
  readonly total: number | null;
}

const HOLDERS = new Set(['meta', 'links', 'paging', 'pagination', 'pageInfo']);
const NAMES = {
  page: ['currentPage', 'page', 'pageNumber'],
  pages: ['lastPage', 'totalPages', 'pageCount', 'pages'],
  perPage: ['perPage', 'pageSize', 'limit'],
  // Of tables with filters, `recordsTotal` counts rows that were not asked for, too.
  total: ['total', 'totalCount', 'totalRows', 'totalResults', 'recordsFiltered', 'recordsTotal', 'rowCount'],
  next: ['next', 'nextPage', 'nextPageUrl', 'nextLink', 'nextCursor', 'nextPageToken'],
  more: ['hasMore', 'hasNext', 'hasNextPage', 'hasMorePages', 'truncated', 'isTruncated'],
} as const;

/**
 * @param containers objects around the rows, the outermost first
 * @returns null if neither numbers nor a link to a next page indicate further rows
 */
export function readPaging(
  containers: readonly JsonObject[],
  rowCount: number,
  { hasNext, total }: PageHeaders = { hasNext: false, total: null },
): Paging | null {
  const members = new Map<string, Json>();
  for (const container of containers) gather(container, members, 0);
  const number = (names: readonly string[]): number | null => firstOf(members, names, countIn);
  const paging = {
    page: number(NAMES.page),
    pages: number(NAMES.pages),
    perPage: number(NAMES.perPage),
    total: larger(number(NAMES.total), total),
  };
  const partial =
    hasNext ||
    firstOf(members, NAMES.next, linkIn) !== null ||
    firstOf(members, NAMES.more, (value) => (value === true || value === 'true' ? value : null)) !== null ||
    (paging.pages !== null && paging.pages > 1) ||
    (paging.total !== null && paging.total > rowCount);
  return partial ? paging : null;
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** A parameter of a link, after its target (RFC 8288, section 3). */
const PARAMETER = /;\s*([^\s=;,"]+)\s*(?:=\s*(?:"([^"]*)"|([^\s";,]*)))?/g;
const LINK = /<[^<>]*>((?:[^<",]|"[^"]*")*)/g;
/** Of a next page: there is none. */
const NO_PAGE = /^(?:0|-1|null|none|false)?$/i;

/**
 * @param headers of the answer, with names in lower case
 * @returns what `link`, `x-next-page`, `x-total-count` and `content-range` say
 */
export function readPageHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): PageHeaders {
  const textOf = (name: string) => [headers[name] ?? []].flat().join(', ').trim();
  // Bytes of a resource are no rows, and `*` is an unknown total (RFC 9110, section 14.4).
  const range = /^(?!bytes\b).*\/\s*(\d{1,15})$/i.exec(textOf('content-range'));
  return {
    hasNext: linksToNext(textOf('link')) || !NO_PAGE.test(textOf('x-next-page')),
    total: larger(countIn(textOf('x-total-count')), countIn(range?.[1] ?? null)),
  };
}

function linksToNext(link: string): boolean {
  return [...link.matchAll(LINK)].some(([, parameters = '']) => {
    const rel = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === 'rel');
    return (rel?.[2] ?? rel?.[3] ?? '').toLowerCase().split(/\s+/).includes('next');
  });
}

/** Collects members of an object and of its paging objects, by camelCase name, also `HasMore`; the first one counts. */
function gather(object: JsonObject, members: Map<string, Json>, depth: number): void {
  for (const [index, name] of object.names.entries()) {
    const value = object.values[index] as Json;
    const column = camelCase(name).replace(/^[A-Z]/, (first) => first.toLowerCase());
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
  const text = value instanceof JsonNumber ? value.text : value;
  return typeof text === 'string' && !NO_PAGE.test(text) ? value : null;
}
