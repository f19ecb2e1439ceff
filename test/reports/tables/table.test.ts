import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerTable } from '../../../src/reports/tables/answer-table.js';
import { type Row, sortRows } from '../../../src/reports/tables/table.js';

const sorted = (values: readonly unknown[], order: 'asc' | 'desc') =>
  sortRows(
    values.map((spent) => ({ spent })),
    ['spent'],
    { column: 'spent', order },
  ).rows.map(({ spent }) => spent);

/** A decimal in units of 10^-30, by whole numbers alone. */
function unitsOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole + fraction.padEnd(30, '0'));
  return text.startsWith('-') ? -units : units;
}

const digits = (most: number) => fc.stringMatching(new RegExp(`^(0|[1-9][0-9]{0,${most}})$`));
const decimals = fc
  .record({
    minus: fc.boolean(),
    whole: digits(24),
    fraction: fc.option(fc.stringMatching(/^[0-9]{1,30}$/), { nil: null }),
  })
  .map(
    ({ minus, whole, fraction }) => `${minus ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}`,
  );
/** Next to each other, where doubles are the same. */
const neighbours = fc.bigInt({ min: 0n, max: 9n }).map((by) => `${12_345_678_901_234_567n + by}`);
const texts = fc.constantFrom('-', '1,000.50', 'n/a', '', '1.2.3');

describe('a column of numbers', () => {
  it('is sorted by value where it holds a text too: the largest come first', () => {
    for (const odd of ['-', '1,000.50', '12345678901234567'])
      expect(
        sorted(
          ['9.5', '1000', '250', odd].filter((one) => one !== '12345678901234567'),
          'desc',
        ).slice(0, 3),
      ).toEqual(['1000', '250', '9.5']);
    expect(sorted(['9.5', '12345678901234567', '1000', '12345678901234568'], 'desc')).toEqual([
      '12345678901234568',
      '12345678901234567',
      '1000',
      '9.5',
    ]);
    expect(sorted([9.5, 1000, '250', null, '-'], 'asc')).toEqual([9.5, '250', 1000, '-', null]);
  });

  it('is sorted exactly, with texts and what is absent behind it in either order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(decimals, neighbours, fc.integer(), texts, fc.constant(null)), { maxLength: 40 }),
        fc.constantFrom('asc' as const, 'desc' as const),
        (values, order) => {
          const result = sorted(values, order);
          const isNumber = (value: unknown) => value !== null && /^-?\d+(\.\d+)?$/.test(String(value));
          const numbers = result.filter(isNumber);
          expect(result.slice(0, numbers.length)).toEqual(numbers);
          const units = numbers.map((value) => unitsOf(String(value)));
          const sign = order === 'asc' ? 1n : -1n;
          units.slice(1).forEach((unit, at) => {
            expect(sign * (unit - (units[at] as bigint)) >= 0n).toBe(true);
          });
          const others = result.slice(numbers.length);
          const words = others.filter((value) => value !== null);
          expect(others.slice(0, words.length)).toEqual(words);
          expect(words).toEqual(order === 'asc' ? words.toSorted() : words.toSorted().reverse());
          expect(result.toSorted()).toEqual([...values].toSorted());
        },
      ),
    );
  });

  it('keeps rows of the same value in their order', () => {
    const rows: Row[] = ['1.0', '2', '1', '1.00'].map((spent, at) => ({ spent, at }));
    const order = (way: 'asc' | 'desc') =>
      sortRows(rows, ['spent', 'at'], { column: 'spent', order: way }).rows.map(({ at }) => at);
    expect([order('asc'), order('desc')]).toEqual([
      [0, 2, 3, 1],
      [1, 0, 2, 3],
    ]);
  });
});

describe('a table that is sorted by a column of numbers and texts', () => {
  const warningsOf = (values: readonly unknown[], meta: object = {}) =>
    answerTable(JSON.stringify({ data: values.map((spent) => ({ spent })), meta }), {
      kind: 'report',
      columns: null,
      sort: { column: 'spent', order: 'desc' },
    }).about.warnings;

  it('says so, beside other warnings', () => {
    const mixed = { code: 'mixed_column', message: expect.stringContaining('spent holds numbers and texts') };
    expect(warningsOf(['9.5', '-'])).toEqual([mixed]);
    expect(warningsOf(['9.5', '1,000.50'], { warnings: [{ code: 'other' }] })).toEqual([
      { code: 'other' },
      mixed,
    ]);
    for (const alike of [
      ['9.5', '12345678901234567'],
      ['a', 'b'],
      [1, null],
      ['1', ''],
    ])
      expect(warningsOf(alike)).toBeUndefined();
  });
});
