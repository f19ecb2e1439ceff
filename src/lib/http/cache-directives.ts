/** The caller's `cache-control` (RFC 9111, section 5.2.1). */

// `cache-control` of a request or an answer (RFC 9111, section 5.2), read leniently: what cannot be read is one
// directive that means nothing, and takes none of the others with it.
//
// @param header its lines joined by commas
// @returns names in lower case, each with its value in lower case and without quotes, `''` where it has none. Of a
//   directive that is there twice, the first one counts (RFC 9111, section 4.2.1). A comma ends a directive, inside of
//   quotes too: then `no-store` is seen wherever it stands

export function readDirectives(header: string): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', value = ''] = part.trim().split('=', 2);
    if (!directives.has(name)) directives.set(name, value.replaceAll('"', ''));
  }
  return directives;
}

export interface CacheDirectives {
  /** Oldest age that will do, in milliseconds; null: whatever the freshness rules say. `no-cache` is 0. */
  readonly maxAgeMs: number | null;
  /** Staleness that will do, in milliseconds; Infinity for any, null for none beyond the gateway's own rules. */
  readonly maxStaleMs: number | null;
  readonly onlyIfCached: boolean;
  /**
   * Set where nothing but final days will do (`_final`): the day it is, as a day number. What is old enough on it, and was
   * fetched before it was, is fetched again.
   */
  readonly finalOn?: number;
}

export const NO_DIRECTIVES: CacheDirectives = { maxAgeMs: null, maxStaleMs: null, onlyIfCached: false };

/**
 * @param mayRefresh whether the caller may ask for fresher answers (scope `cache:refresh`); else that part is ignored
 */
export function readCacheDirectives(header: string | undefined, mayRefresh: boolean): CacheDirectives {
  if (header === undefined || header === '') return NO_DIRECTIVES;
  const directives = readDirectives(header);
  return {
    maxAgeMs: mayRefresh ? maxAge(directives) : null,
    maxStaleMs: directives.has('max-stale')
      ? (seconds(directives.get('max-stale')) ?? Number.POSITIVE_INFINITY)
      : null,
    onlyIfCached: directives.has('only-if-cached'),
  };
}

function maxAge(directives: ReadonlyMap<string, string>): number | null {
  if (directives.has('no-cache')) return 0;
  return seconds(directives.get('max-age'));
}

function seconds(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : null;
}
