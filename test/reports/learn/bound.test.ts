/** A bound for what was seen seldom or never. */
import { expect, it } from 'vitest';
import { percentAtMost, upperBound } from '../../../src/reports/learn/scope.js';

it('is the rule of three where nothing was seen, and the exact one elsewhere', () => {
  expect(upperBound(0, 300)).toBeCloseTo(3 / 300, 3);
  expect(upperBound(0, 1)).toBeCloseTo(0.95, 6);
  // Tables of Clopper and Pearson, one-sided.
  expect(upperBound(1, 10)).toBeCloseTo(0.3942, 4);
  expect(upperBound(5, 100)).toBeCloseTo(0.1023, 4);
  expect([upperBound(0, 0), upperBound(7, 7)]).toEqual([1, 1]);
});

it('is never nought, and holds for thousands', () => {
  expect(percentAtMost(0, 1_000_000)).toBeGreaterThan(0);
  expect(percentAtMost(2000, 40_000)).toBeCloseTo(5.18, 1);
});
