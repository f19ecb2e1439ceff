import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPace, type Pace } from '../../src/platform/pace.js';

/** Time that stands still. */
function open(replicas = 1) {
  let nowMs = 1_000_000;
  const startMs = Date.parse('2026-11-21T12:00:00Z');
  const clock = { now: () => startMs + nowMs, monotonicMs: () => nowMs };
  const pace = createPace(clock, () => replicas);
  return {
    pace,
    clock,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

const shown = (limit: number, remaining: number, reset?: number) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  ...(reset === undefined ? {} : { 'x-ratelimit-reset': String(reset) }),
});

function call(pace: Pace, headers: Parameters<Pace['ended']>[0]): void {
  pace.started();
  pace.ended(headers);
}

describe('the pace of calls', () => {
  it('is free while no rate was shown, or plenty is left', () => {
    const { pace } = open();
    expect(pace.waitMs()).toBe(0);
    for (const headers of [null, {}, { 'x-ratelimit-limit': '60' }, shown(60, Number.NaN), shown(60, 16)]) {
      call(pace, headers);
      expect(pace.waitMs()).toBe(0);
    }
  });

  it('spreads the last quarter over what is left of the window', () => {
    const { pace, advance } = open();
    call(pace, shown(60, 15, 30));
    expect(pace.waitMs()).toBe(2000);
    advance(1500);
    expect(pace.waitMs()).toBe(400);
    advance(400);
    expect(pace.waitMs()).toBe(0);
  });

  it.each<[string, (nowMs: number) => number]>([
    ['seconds', () => 30],
    ['a time', (nowMs) => nowMs / 1000 + 30],
  ])('reads a reset that is %s', (_, reset) => {
    const { pace, clock } = open();
    call(pace, shown(60, 10, reset(clock.now())));
    expect(pace.waitMs()).toBe(3000);
  });

  it('takes the window for a minute that began when it was first seen, where no reset is shown', () => {
    const { pace, advance } = open();
    call(pace, shown(60, 59));
    advance(30_000);
    call(pace, shown(60, 15));
    expect(pace.waitMs()).toBe(2000);
    // A little more than before: answers overtook each other.
    call(pace, shown(60, 10));
    call(pace, shown(60, 12));
    expect(pace.waitMs()).toBe(2500);
    // Much more: a new window.
    call(pace, shown(60, 59));
    expect(pace.waitMs()).toBe(0);
    advance(15_000);
    call(pace, shown(60, 15));
    expect(pace.waitMs()).toBe(3000);
    advance(45_000);
    expect(pace.waitMs()).toBe(0);
  });

  it('counts what is under way, and leaves the others their part', () => {
    const { pace } = open(3);
    call(pace, shown(60, 12, 30));
    pace.started();
    pace.started();
    expect(pace.waitMs()).toBe(9000);
    pace.ended(null);
    pace.ended(null);
    expect(pace.waitMs()).toBe(7500);
  });

  it('leaves an empty window to the platform, whose 429 says how long to wait', () => {
    const { pace } = open();
    call(pace, shown(60, 0, 30));
    expect(pace.waitMs()).toBe(0);
  });

  it('never waits beyond the window, and always for less than for ever', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            limit: fc.nat(100),
            remaining: fc.nat(120),
            reset: fc.option(fc.nat(120), { nil: undefined }),
            advanceMs: fc.nat(20_000),
          }),
        ),
        fc.integer({ min: 1, max: 5 }),
        (answers, replicas) => {
          const { pace, advance } = open(replicas);
          for (const { limit, remaining, reset, advanceMs } of answers) {
            call(pace, shown(limit, remaining, reset));
            const waitMs = pace.waitMs();
            expect(waitMs).toBeGreaterThanOrEqual(0);
            expect(waitMs).toBeLessThanOrEqual(120_000);
            advance(waitMs);
            expect(pace.waitMs()).toBeLessThan(1);
            advance(advanceMs);
          }
        },
      ),
    );
  });
});
