/** Differences as the explorer shows them: they agree with the two numbers that stand beside them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differsRounded, numbersIn, type Unit } from '../../src/web/explorer/numbers.js';

const numbers = numbersIn('en-US');
const { full, signed } = numbers;

/** What a shown number says, in ten thousandths. */
function toldBy(text: string): bigint {
  const [, sign = '', whole = '', decimals = ''] = /^([+-]?)(\d+)(?:\.(\d{1,4}))?$/.exec(
    text
      .replace('−', '-')
      .replace(/^under .*/, '0')
      .replaceAll(/[$,%]/g, '')
      .replace(/ (pp|percentage points)$/, ''),
  ) as RegExpExecArray;
  return BigInt(`${sign}${whole}${decimals.padEnd(4, '0')}`);
}

const units = fc.constantFrom<[Unit, string | null][]>(
  ['money', 'USD'],
  ['money', null],
  ['number', null],
  ['share', null],
);
const values = fc.oneof(
  fc.double({ min: -1e9, max: 1e9, noNaN: true }),
  fc.double({ min: -0.02, max: 0.02, noNaN: true }),
  // Halves of a cent, which are rounded.
  fc.integer({ min: -1e6, max: 1e6 }).map((thousandths) => thousandths / 1000),
  fc.integer({ min: -1e9, max: 1e9 }),
);

it('a total is told to be of the exact numbers only where the rounded ones have another sum', () => {
  const parts = [12_329.0351, 4790.9351, 549.7251];
  expect(differsRounded(parts, 17_669.6953, 'money')).toBe(true);
  expect(differsRounded([12_329.04, 4790.94], 17_119.98, 'money')).toBe(false);
  // The total of something else, too many parts, one part, and no total.
  expect(differsRounded(parts, 18_000, 'money')).toBe(false);
  expect(differsRounded(Array(21).fill(0.015), 0.315, 'money')).toBe(false);
  expect(differsRounded(Array(20).fill(0.015), 0.3, 'money')).toBe(true);
  expect(differsRounded([0.015, null], 0.015, 'money')).toBe(false);
  expect(differsRounded(parts, null, 'money')).toBe(false);
});

describe('a difference', () => {
  it('is that of both numbers as they are shown, of money, counts and percentages', () => {
    fc.assert(
      fc.property(units, values, values, ([unit, currency], now, before) => {
        const [shownNow, shownBefore] = [now, before].map((one) => toldBy(full(one, unit, currency)));
        expect(toldBy(signed(now, before, unit, currency))).toBe(
          (shownNow as bigint) - (shownBefore as bigint),
        );
      }),
    );
  });

  it('of totals that are rounded apart is not a cent more than what they show', () => {
    expect(full(12_420.054, 'money', 'USD')).toBe('$12,420.05');
    expect(full(12_212.4152, 'money', 'USD')).toBe('$12,212.42');
    expect(signed(12_420.054, 12_212.4152, 'money', 'USD')).toBe('+$207.63');
    expect(numbers.compared(12_420.054, 12_212.4152, 'money', 'USD')).toBe('$207.63 more (+1.7%)');
  });

  it('has a sign, unless it is 0, and percentages differ by percentage points', () => {
    expect([signed(1, 4, 'number', null), signed(4, 4, 'number', null)]).toEqual(['−3', '0']);
    expect(signed(0.75, 0.71, 'share', null)).toBe('+0.04 pp');
    expect(signed(12.351, 12.353, 'money', 'USD')).toBe('under $0.01 less');
    expect(signed(1, 0.0051, 'money', 'USD')).toBe('+$0.9949');
  });

  it('in words has its direction, and in percent what it is of the number before', () => {
    const words = (...of: Parameters<typeof numbers.compared>) => numbers.compared(...of);
    expect(words(3, 4, 'number', null)).toBe('1 less (−25.0%)');
    expect(words(0.71, 0.75, 'share', null)).toBe('0.04 percentage points less (−5.3%)');
    expect(words(5, 0, 'money', 'USD')).toBe('$5.00 more');
    expect(words(5, 5, 'money', 'USD')).toBe('no difference');
    expect(words(10.004, 10.001, 'money', 'USD')).toBe('under $0.01 more (+0.03%)');
  });
});
