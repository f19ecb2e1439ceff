import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSlowFailures } from '../../../src/teams/auth/auth.js';
import { createStandingClock } from '../../support/test-clock.js';

function open() {
  const clock = createStandingClock();
  const failures = createSlowFailures(clock);
  return {
    failures,
    advance: clock.advanceMonotonic,
    /** The delays of so many refusals in a row. */
    flood: (address: string, count: number) => Array.from({ length: count }, () => failures.delayMs(address)),
  };
}

describe('the refusals of an address', () => {
  it('cost nothing at first, then more and more, up to a second', () => {
    const delays = open().flood('192.0.2.1', 200);
    expect(delays.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 0));
    expect(delays[20]).toBeGreaterThan(0);
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(delays.at(-1)).toBe(1000);
  });

  it('are forgotten with time', () => {
    const { flood, advance } = open();
    flood('192.0.2.1', 200);
    advance(30_000);
    expect(flood('192.0.2.1', 1)).toEqual([1000]);
    advance(150_000);
    expect(flood('192.0.2.1', 1)).toEqual([0]);
  });

  it('are no other address’s', () => {
    const { flood } = open();
    flood('192.0.2.1', 200);
    expect(flood('192.0.2.2', 20)).toEqual(Array.from({ length: 20 }, () => 0));
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['no address', 'no address', true],
  ])('%s and %s count together: %s', (one, other, together) => {
    const { flood } = open();
    flood(one, 100);
    expect((flood(other, 1)[0] ?? 0) > 0).toBe(together);
  });

  it('of very many addresses are not all remembered', () => {
    const { flood } = open();
    flood('192.0.2.1', 200);
    for (let index = 0; index < 10_000; index++) flood(`10.0.${index >> 8}.${index & 255}`, 1);
    expect(flood('192.0.2.1', 1)).toEqual([0]);
  });

  it('are never held longer than a second, however they come', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 300 }), (pauses) => {
        const { flood, advance } = open();
        for (const pause of pauses) {
          advance(pause);
          const [delay = -1] = flood('192.0.2.1', 1);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(1000);
        }
      }),
    );
  });
});

it('beyond 256 refusals held at once, others go out at once', async () => {
  const { failures, flood } = open();
  flood('192.0.2.1', 200);
  let out = 0;
  const held = Array.from({ length: 300 }, () => failures.hold('192.0.2.1').then(() => (out += 1)));
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  expect(out).toBe(44);
  await Promise.all(held);
  expect(out).toBe(300);
  // And there is room again.
  const next = failures.hold('192.0.2.1').then(() => (out += 1));
  await Promise.resolve();
  await Promise.resolve();
  expect(out).toBe(300);
  await next;
});
