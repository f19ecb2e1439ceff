/** The limits on the page "My access". */
import { describe, expect, it } from 'vitest';
import { concurrentRequests, type Me, platformCalls } from '../../src/web/explorer/applied-limits.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const RESET = '2026-11-22T00:00:00.000Z';
const me = (applies: Partial<Me['applies']>) =>
  ({
    limits: { upstreamCallsPerDay: 5000, maxConcurrent: 32 },
    left: { upstreamCallsPerDay: 4950, maxConcurrent: 10, upstreamCallsResetAt: RESET },
    applies: {
      maxConcurrent: 32,
      upstreamCalls: 4950,
      upstreamCallsResetAt: RESET,
      upstreamCallsLimitedBy: 'team',
      ...applies,
    },
  }) as Me;

describe('platform calls left', () => {
  it("are the team's while no other limit is stricter", () => {
    expect(platformCalls(me({}), NOW)).toEqual({
      label: 'Platform calls left today',
      value: '4,950',
      note: 'of 5,000, reset in 12 h',
    });
  });

  it("are the platform's where it allows fewer", () => {
    const applies = {
      upstreamCalls: 2,
      upstreamCallsLimitedBy: 'platform' as const,
      upstreamCallsResetAt: '2026-11-21T12:00:40.000Z',
    };
    expect(platformCalls(me(applies), NOW)).toEqual({
      label: 'Platform calls left now',
      value: '2',
      note: 'limit of the platform for all teams, reset in 40 s; 4,950 left for your team today',
    });
  });
});

describe('concurrent requests left', () => {
  it("are of this replica's part, where there are several", () => {
    expect(concurrentRequests(me({})).note).toBe('of 32');
    expect(concurrentRequests(me({ maxConcurrent: 11 })).note).toBe(
      'of 11 on this replica; 32 on all replicas together',
    );
  });
});
