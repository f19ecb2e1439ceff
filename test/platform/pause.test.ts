import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPause } from '../../src/platform/pace.js';
import { createStandingClock } from '../support/test-clock.js';

const MAX_MS = 900_000;

describe('the pause after a 429', () => {
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
