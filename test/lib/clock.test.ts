import { expect, it } from 'vitest';
import { createClock } from '../../src/lib/clock.js';
import { wallMs } from '../../src/lib/time.js';

const MINUTE = 60_000;

/** By how much it is ahead of the machine, in seconds. */
const aheadS = (clock: { now(): number }) => Math.round((clock.now() - wallMs()) / 1000);

it('a clock follows that of the store from a second on, and keeps its test offset', () => {
  const clock = createClock();
  clock.follow(900);
  expect(aheadS(clock)).toBe(0);
  clock.follow(-90_000);
  expect(aheadS(clock)).toBe(-90);
  clock.moveTo(60 * MINUTE);
  expect(aheadS(clock)).toBe(3510);
  // As long as an answer may take.
  clock.follow(-90_500);
  expect(clock.now() - wallMs()).toBeCloseTo(3_510_000, -2);
  clock.follow(0);
  expect(aheadS(clock)).toBe(3600);
});

it('a clock that follows does not jump where the difference is about a second', () => {
  const clock = createClock();
  clock.follow(1001);
  clock.follow(999);
  expect(clock.now() - wallMs()).toBeCloseTo(1001, -2);
});

it('a clock does not follow a store that is more than five minutes away', () => {
  const clock = createClock();
  clock.follow(90_000);
  clock.follow(6 * MINUTE);
  expect(aheadS(clock)).toBe(0);
  expect(clock.apartMs).toBe(6 * MINUTE);
  clock.follow(90_000);
  expect(clock.apartMs).toBe(0);
});
