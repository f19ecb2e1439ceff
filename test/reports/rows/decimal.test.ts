import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  add,
  type Decimal,
  decimalOf,
  percentOf,
  shownAs,
  subtract,
} from '../../../src/reports/rows/decimal.js';

const of = (value: number | string) => decimalOf(value) as Decimal;

describe('decimals', () => {
  it('have no artefacts of doubles', () => {
    expect(shownAs(add(of(0.1), of(0.2)))).toBe(0.3);
    expect(shownAs(subtract(of(0.3), of(0.1)))).toBe(0.2);
    expect(shownAs(subtract(of('9007199254740993'), of(1)))).toBe(9007199254740992);
    expect(shownAs(add(of('9007199254740993'), of(0)))).toBe('9007199254740993');
    expect(shownAs(add(of('0.1234567890123456789'), of(1)))).toBe('1.1234567890123456789');
    expect(shownAs(subtract(of(1e-7), of(2e-7)))).toBe(-1e-7);
    expect(shownAs(add(of(1e21), of(0)))).toBe(1e21);
  });

  it.each(['', 'x', '1.', '1e9999', '٣', ' 1', null, true, {}])('%j is none', (value) => {
    expect(decimalOf(value)).toBeNull();
  });

  it('are added up as on paper', () => {
    const cents = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cents, fc.nat(4))), (cells) => {
        const sum = cells
          .map(([units, scale]): Decimal => ({ units: BigInt(units), scale }))
          .reduce(add, { units: 0n, scale: 0 });
        const onPaper = cells.reduce(
          (all, [units, scale]) => all + BigInt(units) * 10n ** BigInt(4 - scale),
          0n,
        );
        expect(sum.units * 10n ** BigInt(4 - sum.scale)).toBe(onPaper);
        expect(of(shownAs(sum)).units * 10n ** BigInt(4 - of(shownAs(sum)).scale)).toBe(onPaper);
      }),
    );
  });

  it.each([
    [100, 12, 12],
    [-50, 25, 50],
    [3, 1, 33.3333],
    [3, -2, -66.6667],
    [0, 5, null],
    ['0.00', 5, null],
  ])('of %s, %s more is %s %%', (old, diff, percent) => {
    const found = percentOf(of(old), of(diff));
    expect(found === null ? null : shownAs(found)).toBe(percent);
  });
});
