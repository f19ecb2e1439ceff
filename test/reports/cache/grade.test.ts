import { describe, expect, it } from 'vitest';
import { type CacheDirectives, NO_DIRECTIVES } from '../../../src/lib/http/cache-directives.js';
import { gradeOf } from '../../../src/reports/cache/look-up.js';
import { wholeRef } from '../../../src/reports/question.js';
import type { Entry } from '../../../src/reports/rows/entry.js';
import { policyOf } from '../fetch/policy.js';
import { get } from '../query/canonical-request.js';
import { bytesEntry, FETCHED_AT, RULES, refusalEntry, rowsEntry } from '../rows/entries.js';

const NEGATIVE_MS = 30_000;
const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-12');
const WHOLE = wholeRef({ report, series: 'series', form: 'rows' });

/** What an entry in the store is good for, looked up at a time. */
function gradeAt(atMs: number, entry: Entry, directives: CacheDirectives, arrivedAtMs = atMs) {
  const held = { entry, source: 'kept' as const, wasThere: false, atMs };
  const purges = { isPurged: () => false };
  const policy = policyOf({ negativeMs: NEGATIVE_MS });
  return gradeOf(held, WHOLE, { report, directives, arrivedAtMs, generation: 'first', policy, purges });
}

describe('what an entry may be used for', () => {
  // A day within restatement: fresh for an hour, then ten minutes for use at once, then a week for failures.
  const HOUR = RULES.restatingMs;
  const entry = rowsEntry([{}], { lastDay: '2026-11-18' });
  const directives = (changes: Partial<CacheDirectives>): CacheDirectives => ({
    ...NO_DIRECTIVES,
    ...changes,
  });

  it.each<[number, Partial<CacheDirectives>, string]>([
    [0, {}, 'fresh'],
    [HOUR - 1, {}, 'fresh'],
    [HOUR, {}, 'stale'],
    [HOUR + 599_999, {}, 'stale'],
    [HOUR + 600_000, {}, 'error-only'],
    [HOUR + RULES.staleIfErrorMs - 1, {}, 'error-only'],
    [HOUR + RULES.staleIfErrorMs, {}, 'absent'],
    [-300_000, {}, 'fresh'],
    [-300_001, {}, 'absent'],
    // max-age narrows, and never widens.
    [60_000, { maxAgeMs: 60_000 }, 'fresh'],
    [60_001, { maxAgeMs: 60_000 }, 'error-only'],
    [HOUR, { maxAgeMs: 10 * HOUR }, 'stale'],
    // max-stale widens what may be given at once.
    [HOUR + 700_000, { maxStaleMs: 700_000 }, 'stale'],
    [HOUR + 700_001, { maxStaleMs: 700_000 }, 'error-only'],
    [HOUR + RULES.staleIfErrorMs, { maxStaleMs: 1e12 }, 'absent'],
  ])('after %i ms with %j is %s', (ageMs, changes, expected) => {
    expect(gradeAt(FETCHED_AT + ageMs, entry, directives(changes))).toBe(expected);
  });

  it('for no-cache is fresh only when its fetch began after the request came', () => {
    const { fetchStartedAt } = entry.header;
    const noCache = directives({ maxAgeMs: 0 });
    expect(gradeAt(FETCHED_AT, entry, noCache, fetchStartedAt)).toBe('fresh');
    expect(gradeAt(FETCHED_AT, entry, noCache, fetchStartedAt + 1)).toBe('error-only');
    expect(gradeAt(FETCHED_AT, refusalEntry('{}'), noCache, FETCHED_AT + 1)).toBe('absent');
  });

  it('of a refusal is its short memory, and never a help when the platform fails', () => {
    const refusal = refusalEntry('{}');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS - 1, refusal, NO_DIRECTIVES)).toBe('fresh');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS - 1, refusal, directives({ maxAgeMs: 1000 }))).toBe('absent');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS, refusal, NO_DIRECTIVES)).toBe('absent');
  });

  it('of an answer whose freshness the platform decides is nothing once that is over', () => {
    const origin = bytesEntry('{}', { originMs: 60_000 });
    expect(gradeAt(FETCHED_AT + 59_999, origin, NO_DIRECTIVES)).toBe('fresh');
    expect(gradeAt(FETCHED_AT + 60_000, origin, directives({ maxStaleMs: 1e9 }))).toBe('absent');
  });
});
