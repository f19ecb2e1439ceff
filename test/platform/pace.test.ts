import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPace, createPause, type Pace } from '../../src/platform/pace.js';
import { createStandingClock } from '../support/test-clock.js';

/** Time that stands still. */
function open(replicas = 1, maxWaitMs = 3_600_000) {
  const clock = createStandingClock();
  const pace = createPace(clock, () => replicas, maxWaitMs);
  return { pace, clock, advance: clock.pass };
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
    ['a time in seconds', (nowMs) => nowMs / 1000 + 30],
    ['a time in milliseconds', (nowMs) => nowMs + 30_000],
  ])('reads a reset that is %s', (_, reset) => {
    const { pace, clock } = open();
    call(pace, shown(60, 10, reset(clock.now())));
    expect(pace.waitMs()).toBe(3000);
  });

  it.each([1, 1000])("reads a time, in units of %d a second, by the platform's own clock", (perSecond) => {
    const { pace, clock } = open();
    const platformMs = clock.now() + 3_600_000;
    const reset = ((platformMs + 30_000) / 1000) * perSecond;
    call(pace, { ...shown(60, 10, reset), date: new Date(platformMs).toUTCString() });
    expect(pace.waitMs()).toBe(3000);
  });

  it('reads what is no time as seconds, as long as they make no more than a day', () => {
    const { pace, advance } = open();
    for (const reset of [50_000, 49_998, 49_996]) {
      call(pace, shown(1000, 100, reset));
      expect(pace.status()?.resetInMs).toBe(reset * 1000);
      advance(2000);
    }
  });

  it('spreads a day no further than a call can wait, and always leaves one call to find out', () => {
    const { pace, advance, clock } = open(3, 15_000);
    for (const reset of [40_000, clock.now() / 1000 + 40_000, clock.now() + 40_000_000]) {
      call(pace, shown(1000, 200, reset));
      expect(pace.waitMs()).toBe(15_000);
      advance(15_000);
      expect(pace.waitMs()).toBe(0);
    }
    call(pace, shown(60, 59));
    expect(pace.waitMs()).toBe(0);
  });

  it('does not believe a window of more than a day', () => {
    const { pace } = open();
    for (const reset of [100_000, 900_000_000]) {
      call(pace, shown(60, 10, reset));
      expect(pace.status()?.resetInMs).toBe(60_000);
    }
  });

  it('forgets a rate that the answers since do not show any more', () => {
    const { pace, advance } = open(1, 15_000);
    call(pace, shown(60, 1, 80_000));
    for (const _ of [1, 2]) {
      advance(15_000);
      call(pace, {});
      // A call that broke off shows nothing.
      call(pace, null);
      expect(pace.waitMs()).toBe(15_000);
    }
    advance(15_000);
    call(pace, {});
    expect([pace.waitMs(), pace.status()]).toEqual([0, null]);
  });

  it('keeps a rate while answers of other routes show none in between', () => {
    const { pace } = open(1, 15_000);
    for (const headers of [shown(60, 1, 80_000), {}, {}, shown(60, 1, 80_000), {}, {}]) call(pace, headers);
    expect(pace.waitMs()).toBe(15_000);
  });

  it('is none where the platform shows a limit of 0 calls, for it has just answered one', () => {
    const { pace } = open();
    call(pace, shown(0, 0));
    expect(pace.status()).toBeNull();
  });

  it('is told while a window lasts', () => {
    const { pace, advance } = open();
    expect(pace.status()).toBeNull();
    call(pace, shown(60, 10, 30));
    expect(pace.status()).toEqual({ limit: 60, remaining: 10, resetInMs: 30_000, waitMs: 3000 });
    advance(30_000);
    expect(pace.status()).toBeNull();
  });

  it('never waits longer than it may, whatever the platform shows', () => {
    const number = fc.oneof(fc.nat(200), fc.maxSafeNat());
    fc.assert(
      fc.property(
        fc.array(fc.record({ limit: number, remaining: number, reset: number }), { minLength: 1 }),
        fc.integer({ min: 1, max: 9 }),
        (answers, replicas) => {
          const { pace } = open(replicas, 15_000);
          for (const { limit, remaining, reset } of answers) {
            call(pace, shown(limit, remaining, reset));
            expect(pace.waitMs()).toBeLessThanOrEqual(15_000);
            expect(pace.status()?.resetInMs ?? 0).toBeLessThanOrEqual(86_400_000);
          }
        },
      ),
    );
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
            // The difference of two readings is rounded.
            expect(waitMs).toBeLessThan(120_000 + 1e-6);
            advance(waitMs);
            expect(pace.waitMs()).toBeLessThan(1);
            advance(advanceMs);
          }
        },
      ),
    );
  });
});

describe('the pause after a 429', () => {
  const MAX_MS = 900_000;

  it('lasts as long as the platform asked, and tells callers how long', () => {
    const clock = createStandingClock();
    const pause = createPause(clock, MAX_MS);
    expect(pause.leftMs()).toBe(0);
    pause.check();
    pause.open(7000);
    expect(pause.leftMs()).toBe(7000);
    expect(pause.check).toThrow(
      expect.objectContaining({
        code: 'upstream_rate_limited',
        status: 503,
        options: expect.objectContaining({ retryAfterS: 7 }),
      }),
    );
    clock.pass(6999);
    expect(pause.check).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ retryAfterS: 1 }) }),
    );
    clock.pass(1);
    pause.check();
  });

  it('is ten seconds when the platform does not say', () => {
    const pause = createPause(createStandingClock(), MAX_MS);
    pause.open(null);
    expect(pause.leftMs()).toBe(10_000);
  });

  it('is no longer than is believed, and a shorter one does not shorten it', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(10 * MAX_MS)), { minLength: 1 }), (asked) => {
        const pause = createPause(createStandingClock(), MAX_MS);
        for (const ms of asked) pause.open(ms);
        const longest = Math.max(...asked.map((ms) => Math.min(ms ?? 10_000, MAX_MS)));
        expect(pause.leftMs()).toBe(longest);
      }),
    );
  });

  it('lasts as long as the platform asked, wherever the machine sets its clock', () => {
    for (const backMs of [3_600_000, -3_600_000]) {
      const clock = createStandingClock();
      const pause = createPause(clock, MAX_MS);
      pause.open(2000);
      clock.advance(-backMs);
      expect(pause.leftMs()).toBe(2000);
      clock.pass(2000);
      pause.check();
    }
  });

  it('is told to others, who keep it as far as they believe it, wherever their clocks stand', () => {
    const clock = createStandingClock();
    const told: string[] = [];
    const pause = createPause(clock, MAX_MS, (message) => told.push(message));
    pause.open(7000);
    const otherClock = createStandingClock();
    otherClock.advance(-3_600_000);
    const other = createPause(otherClock, MAX_MS, () => expect.unreachable());
    for (const heard of [told[0] as string, '', 'nonsense', '-5', '12']) other.hear(heard);
    expect(other.leftMs()).toBe(7000);
    other.hear(String(MAX_MS * 100));
    expect(other.leftMs()).toBe(MAX_MS);
    other.hear('1');
    expect(other.leftMs()).toBe(MAX_MS);
  });

  it('is understood when a replica of an older version tells its end by the wall clock', () => {
    const clock = createStandingClock();
    const pause = createPause(clock, MAX_MS);
    pause.hear(String(clock.now() - 1));
    expect(pause.leftMs()).toBe(0);
    pause.hear(String(clock.now() + 7000));
    expect(pause.leftMs()).toBe(7000);
    pause.hear(String(clock.now() + 100 * MAX_MS));
    expect(pause.leftMs()).toBe(MAX_MS);
  });

  it('has an error that asks for a second at least, also when it is over', () => {
    const pause = createPause(createStandingClock(), MAX_MS);
    pause.open(0);
    pause.check();
    expect(pause.error().options.retryAfterS).toBe(1);
  });
});
