/**
 * Parses `cache-control` (RFC 9111, section 5.2) leniently: an invalid directive is ignored, not the rest.
 * @param header its lines joined by commas
 * @returns values by lower-case name, lower case and unquoted, `''` without value. The first of repeated directives
 *   counts (section 4.2.1). A comma ends a directive even inside quotes, so that `no-store` is always seen
 */
export function readDirectives(header: string): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', value = ''] = part.trim().split('=', 2);
    if (!directives.has(name)) directives.set(name, value.replaceAll('"', ''));
  }
  return directives;
}

/** The caller's `cache-control` (RFC 9111, section 5.2.1). */
export interface CacheDirectives {
  /** Maximum accepted age, milliseconds; null: by the freshness rules. `no-cache` is 0. */
  readonly maxAgeMs: number | null;
  /** Maximum accepted staleness, milliseconds; Infinity: any; null: by the gateway's rules. */
  readonly maxStaleMs: number | null;
  readonly onlyIfCached: boolean;
  /** The age that a caller without the scope `cache:refresh` asked for, which is ignored. */
  readonly ignoredMaxAgeMs?: number;
  /** With `_final`: today's day number. A day that is final by then but was fetched earlier is fetched again. */
  readonly finalOn?: number;
}

export const NO_DIRECTIVES: CacheDirectives = { maxAgeMs: null, maxStaleMs: null, onlyIfCached: false };

/** @param mayRefresh whether the caller has the scope `cache:refresh`; else `no-cache` and `max-age` are ignored */
export function readCacheDirectives(header: string | undefined, mayRefresh: boolean): CacheDirectives {
  if (header === undefined || header === '') return NO_DIRECTIVES;
  const directives = readDirectives(header);
  const maxAgeMs = directives.has('no-cache') ? 0 : milliseconds(directives.get('max-age'));
  return {
    maxAgeMs: mayRefresh ? maxAgeMs : null,
    maxStaleMs: directives.has('max-stale')
      ? (milliseconds(directives.get('max-stale')) ?? Number.POSITIVE_INFINITY)
      : null,
    onlyIfCached: directives.has('only-if-cached'),
    ...(mayRefresh || maxAgeMs === null ? {} : { ignoredMaxAgeMs: maxAgeMs }),
  };
}

/** @param value whole seconds; null for anything else */
function milliseconds(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : null;
}
