import type { PhpInput } from './php-input.js';
import { readInteger } from './read-report-query.js';

export interface Paging {
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
  /** Address of the list without `page`. */
  readonly url: string;
}

/** `page` and `per_page`; invalid values count as absent, as in the framework. */
export function readPaging(input: PhpInput, url: string): Paging {
  const positive = (name: string, fallback: number) =>
    Math.max(0, readInteger(input.get(name)) ?? 0) || fallback;
  return { page: positive('page', 1), perPage: Math.min(positive('per_page', 50), 1000), url };
}

/** The framework's paging members. @param total items on all pages @param shown items on this page */
export function pageMembers(total: number, shown: number, { page, perPage, url }: Paging) {
  const last = Math.max(1, Math.ceil(total / perPage));
  const link = (target: number) => (target >= 1 && target <= last ? `${url}?page=${target}` : null);
  const before = (page - 1) * perPage;
  return {
    links: { first: link(1), last: link(last), prev: link(page - 1), next: link(page + 1) },
    meta: {
      current_page: page,
      from: shown > 0 ? before + 1 : null,
      last_page: last,
      path: url,
      per_page: perPage,
      to: shown > 0 ? before + shown : null,
      total,
    },
  };
}
