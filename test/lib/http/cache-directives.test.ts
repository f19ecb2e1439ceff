import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CacheDirectives,
  NO_DIRECTIVES,
  readCacheDirectives,
} from '../../../src/lib/http/cache-directives.js';

const directives = (changes: Partial<CacheDirectives>): CacheDirectives => ({ ...NO_DIRECTIVES, ...changes });

describe('readCacheDirectives', () => {
  it.each<[string | undefined, Partial<CacheDirectives>]>([
    [undefined, {}],
    ['', {}],
    ['no-cache', { maxAgeMs: 0 }],
    ['No-Cache', { maxAgeMs: 0 }],
    ['max-age=0', { maxAgeMs: 0 }],
    ['max-age=60', { maxAgeMs: 60_000 }],
    ['max-age="60"', { maxAgeMs: 60_000 }],
    ['max-age=60, no-cache', { maxAgeMs: 0 }],
    ['only-if-cached', { onlyIfCached: true }],
    ['max-stale', { maxStaleMs: Number.POSITIVE_INFINITY }],
    ['max-stale=10', { maxStaleMs: 10_000 }],
    [
      '  max-stale=10 ,only-if-cached,  max-age=5 ',
      { maxStaleMs: 10_000, onlyIfCached: true, maxAgeMs: 5000 },
    ],
    // What is not understood asks for nothing.
    ['max-age', {}],
    ['max-age=', {}],
    ['max-age=-1', {}],
    ['max-age=1.5', {}],
    ['max-age=1e3', {}],
    ['max-age=99999999999', {}],
    ['no-store', {}],
    ['private, must-revalidate', {}],
    [',,=,;', {}],
  ])('reads %j', (header, expected) => {
    expect(readCacheDirectives(header, true)).toEqual(directives(expected));
  });

  it('does not obey directives for fresher answers without the scope, and keeps what they asked for; it obeys all others', () => {
    expect(readCacheDirectives('no-cache, max-age=5, only-if-cached, max-stale=3', false)).toEqual(
      directives({ onlyIfCached: true, maxStaleMs: 3000, ignoredMaxAgeMs: 0 }),
    );
  });

  it('never throws, and never gives a negative or endless age', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        const { maxAgeMs, maxStaleMs } = readCacheDirectives(header, true);
        expect(maxAgeMs === null || (maxAgeMs >= 0 && Number.isFinite(maxAgeMs))).toBe(true);
        expect(maxStaleMs === null || maxStaleMs >= 0).toBe(true);
      }),
    );
  });
});
