import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isCountable,
  limitOf,
  MOST_UNITS,
  showAmount,
  toMillionths,
} from '../../../src/teams/write-guard/amount.js';

describe('an amount', () => {
  it.each([
    ['0', 0],
    ['0.000', 0],
    ['0e999999999999', 0],
    ['1', 1_000_000],
    ['5e3', 5_000_000_000],
    ['5E+3', 5_000_000_000],
    ['50000e-1', 5_000_000_000],
    ['1200.50', 1_200_500_000],
    ['0.000001', 1],
    // Rounded up, so that no number of calls is ever free.
    ['0.0000001', 1],
    ['1.0000001', 1_000_001],
    ['1e-999999999999', 1],
    ['1.00000000000000000000000000000001', 1_000_001],
    ['9007199254.740991', Number.MAX_SAFE_INTEGER],
  ])('%s is %d millionths', (text, millionths) => {
    expect(toMillionths(text)).toBe(millionths);
  });

  it.each(['-1', '-0', '-0.0', '-1e-9', '9007199254.740992', '1e999', '1e999999999999999', '1'.repeat(17)])(
    '%s is none that can be counted',
    (text) => {
      expect(toMillionths(text)).toBeNull();
    },
  );

  it('is never less than what a reader of doubles makes of it, and never a millionth more', () => {
    const digits = fc.stringMatching(/^(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-3])?$/);
    fc.assert(
      fc.property(digits, (text) => {
        const millionths = toMillionths(text);
        if (millionths === null) return;
        expect(millionths / 1e6).toBeGreaterThanOrEqual(Number(text) * (1 - Number.EPSILON));
        expect(millionths).toBeLessThan(Number(text) * 1e6 * (1 + 4 * Number.EPSILON) + 1);
      }),
    );
  });

  it('takes no longer for digits without end', () => {
    expect(toMillionths(`1.${'0'.repeat(500_000)}1`)).toBe(1_000_001);
    expect(toMillionths(`${'9'.repeat(500_000)}`)).toBeNull();
    expect(toMillionths(`1e-${'9'.repeat(500_000)}`)).toBe(1);
  });
});

describe('a limit', () => {
  it('is countable with up to six decimals', () => {
    for (const limit of [0, 5, 0.1, 1000.25, 0.000001, MOST_UNITS]) expect(isCountable(limit)).toBe(true);
    for (const limit of [1e-7, 0.1234567, 1e21, -1]) expect(isCountable(limit)).toBe(false);
  });

  it('is the number that an operator wrote, whatever a double makes of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (millionths) => {
        const limit = Number(showAmount(millionths));
        expect(isCountable(limit)).toBe(true);
        expect(limitOf(limit)).toBe(millionths);
      }),
    );
  });

  it('is shown in units of its currency', () => {
    expect(showAmount(1_200_500_000, 'EUR')).toBe('1200.5 EUR');
    expect(showAmount(1)).toBe('0.000001');
  });
});
