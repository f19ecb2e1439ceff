import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPause } from '../../src/platform/pause.js';
import { createTestClock } from '../support/test-clock.js';

const MAX_MS = 900_000;

describe('the pause after a 429', () => {
  it('lasts as long as the platform asked, and tells callers how long', () => {
    const clock = createTestClock();
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
    clock.advance(6999);
    expect(pause.check).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ retryAfterS: 1 }) }),
    );
    clock.advance(1);
    pause.check();
  });

  it('is ten seconds when the platform does not say', () => {
    const pause = createPause(createTestClock(), MAX_MS);
    pause.open(null);
    expect(pause.leftMs()).toBe(10_000);
  });

  it('is no longer than is believed, and a shorter one does not shorten it', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(10 * MAX_MS)), { minLength: 1 }), (asked) => {
        const pause = createPause(createTestClock(), MAX_MS);
        for (const ms of asked) pause.open(ms);
        const longest = Math.max(...asked.map((ms) => Math.min(ms ?? 10_000, MAX_MS)));
        expect(pause.leftMs()).toBe(longest);
      }),
    );
  });

  it('is told to others, who keep it as far as they believe it', () => {
    const clock = createTestClock();
    const told: number[] = [];
    const pause = createPause(clock, MAX_MS, (untilMs) => told.push(untilMs));
    pause.open(7000);
    expect(told).toEqual([clock.now() + 7000]);
    const other = createPause(clock, MAX_MS, () => expect.unreachable());
    for (const heard of [told[0] as number, Number.NaN, clock.now() - 1]) other.hear(heard);
    expect(other.leftMs()).toBe(7000);
    other.hear(Number.MAX_SAFE_INTEGER);
    expect(other.leftMs()).toBe(MAX_MS);
    other.hear(clock.now() + 1);
    expect(other.leftMs()).toBe(MAX_MS);
  });

  it('has an error that asks for a second at least, also when it is over', () => {
    const pause = createPause(createTestClock(), MAX_MS);
    pause.open(0);
    pause.check();
    expect(pause.error().options.retryAfterS).toBe(1);
  });
});
