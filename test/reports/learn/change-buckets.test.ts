/** By how much numbers change until a day is final, in buckets. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bucketOf, expectedOf, relativeChange } from '../../../src/reports/learn/expected-changes.js';

const counted = (changes: readonly number[], age = 1, column = 'spent') => {
  const counts = new Map<string, number>();
  for (const change of changes) {
    const field = `${age} ${bucketOf(change)} ${column}`;
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return counts;
};

it('is of the greater value, and nought from nought to nought', () => {
  expect([relativeChange(0, 0), relativeChange(0, 5), relativeChange(5, 0), relativeChange(100, 80)]).toEqual(
    [...[0, 1, 1, 0.2]],
  );
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
      fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
      (a, b) => {
        expect(relativeChange(a, b)).toBe(relativeChange(b, a));
        expect(relativeChange(a, b)).toBeLessThanOrEqual(2);
      },
    ),
  );
});

it('says by how much at most, and never less than what was seen', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true, min: 0, max: 1 }), { minLength: 30, maxLength: 90 }),
      (changes) => {
        const { spent } = expectedOf(counted(changes), 1) ?? {};
        expect(spent?.n).toBe(changes.length);
        const within = (edge = 0) => changes.filter((change) => change <= edge).length / changes.length;
        expect(within(spent?.p50)).toBeGreaterThanOrEqual(0.5);
        expect(within(spent?.p95)).toBeGreaterThanOrEqual(0.95);
      },
    ),
  );
});

it('says nothing of fewer than 30 days, nor of another age', () => {
  const changes = Array.from({ length: 30 }, () => 0.04);
  expect(expectedOf(counted(changes.slice(1)), 1)).toBeNull();
  expect(expectedOf(counted(changes), 2)).toBeNull();
  expect(expectedOf(counted(changes, 1, 'ad spend'), 1)).toEqual({
    'ad spend': { p50: 0.04, p95: 0.04, n: 30 },
  });
});
