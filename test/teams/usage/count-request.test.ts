import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/outcome.js';
import { type Answered as AnsweredTrace, countRequest } from '../../../src/teams/usage/usage-tally.js';

type Answered = AnsweredTrace & { readonly status: number };

const answered = (changes: Partial<Answered>): Answered => ({
  status: 200,
  outcome: 'hit',
  code: null,
  rows: 0,
  plainCalls: 1,
  platformCalls: 0,
  bytesOut: 0,
  via: null,
  ...changes,
});
function countOf(one: Answered): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  countRequest(one.status, one, (field, by) => by > 0 && counts.set(field, by));
  return counts;
}
const counted = (changes: Partial<Answered>) => Object.fromEntries(countOf(answered(changes)));

describe('a request counts as', () => {
  it.each<[Outcome, string | null]>([
    ['hit', 'hits'],
    ['stale', 'stale'],
    ['stale-if-error', 'stale'],
    ['miss', 'misses'],
    ['refresh', 'misses'],
    ['forced', 'misses'],
    ['collapsed', 'misses'],
    ['pass', null],
    ['replay', null],
    ['error', null],
  ])('%s: %s', (outcome, field) => {
    const found = counted({ outcome, platformCalls: 1 });
    expect(found).toEqual({ requests: 1, ...(field === null ? {} : { [field]: 1 }) });
  });

  it('one of those by MCP, beside whatever else it is', () => {
    expect(counted({ outcome: 'hit', via: 'mcp' })).toMatchObject({ requests: 1, viaMcp: 1, hits: 1 });
    expect(counted({ outcome: 'hit' })).not.toHaveProperty('viaMcp');
    expect(counted({ outcome: 'error', via: 'mcp' })).toEqual({ requests: 1, viaMcp: 1, errors: 1 });
  });

  it('the platform calls it saved: what the answer is worth, less what it cost, never less than none', () => {
    expect(counted({ outcome: 'hit' }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'hit', plainCalls: 2 }).upstreamCallsSaved).toBe(2);
    expect(counted({ outcome: 'miss', plainCalls: 2, platformCalls: 1 }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'collapsed' }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'miss', platformCalls: 3 }).upstreamCallsSaved).toBeUndefined();
    expect(counted({ outcome: 'pass', plainCalls: 0 }).upstreamCallsSaved).toBeUndefined();
  });

  it('an error from 400 on, but as limited when the gateway said so', () => {
    expect(counted({ status: 399, outcome: 'pass' }).errors).toBeUndefined();
    expect(counted({ status: 400, outcome: 'error', code: 'invalid_query' })).toEqual({
      requests: 1,
      errors: 1,
    });
    expect(counted({ status: 404, outcome: 'pass' })).toEqual({ requests: 1, errors: 1 });
    expect(counted({ status: 503, outcome: 'error', code: 'upstream_rate_limited' }).errors).toBe(1);
    for (const code of ['rate_limited', 'upstream_budget_exhausted'])
      expect(counted({ status: 429, outcome: 'error', code })).toEqual({ requests: 1, rateLimited: 1 });
  });

  it('its bytes whatever it is, its rows when it is a report', () => {
    expect(counted({ rows: 7, bytesOut: 99 })).toMatchObject({ rows: 7, bytesOut: 99 });
    expect(counted({ outcome: 'error', status: 500, rows: 7, bytesOut: 99 })).toEqual({
      requests: 1,
      errors: 1,
      bytesOut: 99,
    });
  });

  it('one of each kind at most, and nothing is ever taken away', () => {
    const any = fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      outcome: fc.constantFrom<Outcome | null>('hit', 'stale', 'miss', 'collapsed', 'pass', 'error', null),
      code: fc.constantFrom<string | null>(null, 'rate_limited', 'not_found'),
      rows: fc.nat(),
      plainCalls: fc.nat({ max: 2 }),
      platformCalls: fc.nat({ max: 5 }),
      bytesOut: fc.nat(),
      via: fc.constantFrom<'mcp' | null>(null, 'mcp'),
    });
    fc.assert(
      fc.property(any, (one) => {
        const counts = countOf(one);
        expect(counts.get('requests')).toBe(1);
        const kinds = ['hits', 'stale', 'misses'] as const;
        expect(kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0)).toBeLessThanOrEqual(1);
        for (const by of counts.values()) expect(by).toBeGreaterThan(0);
      }),
    );
  });
});
