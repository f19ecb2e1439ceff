/** Decimals without artefacts of doubles, and numbers as they are written. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  add,
  type Decimal,
  decimalOf,
  numberInString,
  numberTokenJson,
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

  it.each(['', '1.', '1e9999', '٣', ' 1', null])('%j is none', (value) => {
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
    [3, 1, 33.3333],
    [3, -2, -66.6667],
    ['0.00', 5, null],
  ])('of %s, %s more is %s %%', (old, diff, percent) => {
    const found = percentOf(of(old), of(diff));
    expect(found === null ? null : shownAs(found)).toBe(percent);
  });
});

/** A decimal as `digits × 10^exponent`, worked out in whole numbers. */
function decimal(text: string): { digits: bigint; exponent: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function sameValue(one: string, other: string): boolean {
  const [a, b] = [decimal(one), decimal(other)];
  const least = Math.min(a.exponent, b.exponent);
  return a.digits * 10n ** BigInt(a.exponent - least) === b.digits * 10n ** BigInt(b.exponent - least);
}

/** Whether JavaScript, reading the text, holds that very decimal. */
function isHeld(text: string): boolean {
  const held = Number(text);
  return Number.isFinite(held) && sameValue(text, String(held));
}

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const plain = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      fc.bigInt({ min: 1n, max: 10n ** 22n }).map(String),
      fc.integer({ min: 1 }).map(String),
    ),
    fc.option(
      fc.tuple(
        fc.constantFrom('', '0', '00000000', '0'.repeat(330)),
        digits(20),
        fc.constantFrom('', '0', '0000'),
      ),
    ),
  )
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === null ? '' : `.${fraction.join('')}`}`);
const scientific = fc
  .tuple(plain, fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 400 }))
  .map(([mantissa, e, sign, exponent]) => `${mantissa}${e}${sign}${exponent}`);
const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value));

describe('numberTokenJson', () => {
  it('gives a number of the same value where JavaScript holds it, else the text', () => {
    fc.assert(
      fc.property(fc.oneof(plain, scientific, doubles), (token) => {
        const json = numberTokenJson(token);
        if (!isHeld(token)) {
          expect(json).toBe(JSON.stringify(token));
          return;
        }
        expect(typeof JSON.parse(json)).toBe('number');
        expect(sameValue(json, token)).toBe(true);
        if (/e/i.test(token)) expect(json).toBe(JSON.stringify(Number(token)));
      }),
      { numRuns: 300 },
    );
  });

  it('writes no exponent for what came without one, and no zeros that say nothing', () => {
    fc.assert(
      fc.property(plain.filter(isHeld), (token) => {
        expect(numberTokenJson(token)).toMatch(/^(?:0|-?(?:[1-9]\d*|0(?=\.))(?:\.\d*[1-9])?)$/);
      }),
    );
  });

  it.each([
    ['12.3400', '12.34'],
    ['-0e5', '0'],
    ['1.50E-7', '1.5e-7'],
    ['0e99999999999999999999', '0'],
    ['1e99999999999999999999', '"1e99999999999999999999"'],
    ['123456789012345e-330', '"123456789012345e-330"'],
  ])('%s → %s', (token, json) => {
    expect(numberTokenJson(token)).toBe(json);
  });

  it('takes time in proportion to the token', () => {
    const token = `1${'0'.repeat(400_000)}1`;
    expect(numberTokenJson(token)).toBe(`"${token}"`);
    expect(numberTokenJson(`0.${'0'.repeat(400_000)}`)).toBe('0');
  });
});

describe('numberInString', () => {
  it('takes plain decimals of at most 15 significant digits that JavaScript holds, and keeps their value', () => {
    fc.assert(
      fc.property(plain, (text) => {
        const significant = text.replace(/[-.]/g, '').replace(/^0*/, '').length;
        const number = numberInString(text);
        if (significant > 15 || !isHeld(text)) expect(number).toBeNull();
        else {
          expect(sameValue(number as string, text)).toBe(true);
          expect(number).toBe(numberTokenJson(text));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('takes nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), scientific, fc.stringMatching(/^[-+0-9.eE ]{0,8}$/)), (text) => {
        fc.pre(!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text));
        expect(numberInString(text)).toBeNull();
      }),
    );
  });

  it.each([
    ['12.3400', '12.34'],
    ['1234567890123456', null],
    ['0.000000000000000123', '0.000000000000000123'],
    [`0.${'0'.repeat(400)}1`, null],
    ['1\n', null],
    ['١', null],
  ])('%j → %j', (text, number) => {
    expect(numberInString(text)).toBe(number);
  });
});
