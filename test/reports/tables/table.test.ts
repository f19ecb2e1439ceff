/** Tables of answers, and their pages. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { answerTable } from '../../../src/reports/tables/answer-table.js';
import { type Page, type PageAsk, pageOf, writePage } from '../../../src/reports/tables/pages.js';
import { type Row, sortRows, type Table } from '../../../src/reports/tables/table.js';

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
    const mixed = {
      code: 'mixed_column',
      message: expect.stringContaining('spent contains numbers and text'),
    };
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

const CURSOR = 'c'.repeat(300);
const ASK: Omit<PageAsk, 'fromRow'> = { caps: { maxRows: 7, maxBytes: 2400 }, cursorChars: CURSOR.length };

/** Each page as an assistant follows them. */
function pagesOf(table: Table, ask = ASK): Page[] {
  const pages = [pageOf(table, { ...ask, fromRow: 0 })];
  for (;;) {
    const fromRow = pages.at(-1)?.nextRow ?? null;
    if (fromRow === null) return pages;
    pages.push(pageOf(table, { ...ask, fromRow }));
  }
}

const cell = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.constantFrom('"\\"\n\u2028', '\ud800', '\u{1f600}'.repeat(300), 'x'.repeat(3000)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.boolean(),
  fc.array(fc.string({ maxLength: 20 }), { maxLength: 100 }),
);
const table = fc.integer({ min: 1, max: 6 }).chain((width) =>
  fc.record({
    about: fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 20 }), { maxKeys: 3 }),
    columns: fc.array(fc.string({ maxLength: 12 }), { minLength: width, maxLength: width }),
    rows: fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 40 }),
  }),
);

interface Read {
  readonly rows: readonly (readonly unknown[])[];
  readonly totalRows: number;
  readonly shortenedCells?: number;
}

describe('pages of a table', () => {
  it('keep to both caps, and hold each row once, in its order', () => {
    fc.assert(
      fc.property(table, (given) => {
        const pages = pagesOf({ ...given, rowCount: given.rows.length });
        expect(new Set(pages.map(({ state }) => state)).size).toBe(1);
        const texts = pages.map((page) => writePage(page, page.nextRow === null ? null : CURSOR));
        for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ASK.caps.maxBytes);
        const read = texts.map((text) => JSON.parse(text) as Read);
        for (const { rows } of read) expect(rows.length).toBeLessThanOrEqual(ASK.caps.maxRows);
        const rows = read.flatMap((page) => page.rows);
        expect(rows.length).toBe(given.rows.length);
        const plain = JSON.parse(JSON.stringify(given.rows)) as unknown[][];
        const changed = rows.flatMap((row, at) =>
          row.filter((value, column) => JSON.stringify(value) !== JSON.stringify(plain[at]?.[column])),
        );
        // What was shortened says so, and is counted.
        expect(changed.length).toBe(read.reduce((sum, { shortenedCells = 0 }) => sum + shortenedCells, 0));
        for (const value of changed) expect(value).toMatch(/… \(\d+ characters\)$/);
      }),
    );
  });

  it('are refused where not even one row fits, and say what to name', () => {
    const columns = Array.from({ length: 400 }, (_, at) => `c${at}`);
    const wide = { about: {}, columns, rowCount: 1, rows: [columns] };
    expect(() => pagesOf(wide)).toThrow(GatewayError);
    const tall = { about: {}, columns: ['a'], rowCount: 1, rows: [Array.from({ length: 400 }, () => 12345)] };
    expect(() => pagesOf(tall)).toThrow(GatewayError);
  });

  it('are refused where what stands beside the rows leaves no room, and say so', () => {
    const table = { about: { totals: 'x'.repeat(2400) }, columns: ['a'], rowCount: 1, rows: [[1]] };
    const thrown = (() => {
      try {
        return pagesOf(table);
      } catch (error) {
        return error;
      }
    })();
    expect((thrown as GatewayError).options.errors?.[0]?.message).toMatch(
      /^the metadata takes 24\d\d of the 2400 bytes/,
    );
  });
});

const tableOf = (values: readonly unknown[][], more: Partial<Table> = {}): Table => ({
  about: { of: 'tests' },
  columns: ['at', 'now'],
  rowCount: values.length,
  rows: values,
  ...more,
});
const counted = Array.from({ length: 5 }, (_, at) => [at, at + 100]);

describe('a page of a table', () => {
  const ask = { caps: { maxRows: 2, maxBytes: 8192 }, cursorChars: 4 };

  it('is followed by the cursor of the next one, and the last one by none', () => {
    const texts = pagesOf(tableOf(counted), ask).map((page) =>
      writePage(page, page.nextRow === null ? null : `at ${page.nextRow}`),
    );
    const same = { totalRows: 5, of: 'tests', columns: ['at', 'now'] };
    expect(texts.map((text) => JSON.parse(text) as object)).toEqual([
      { truncated: true, next: 'at 2', ...same, rows: counted.slice(0, 2) },
      { truncated: true, next: 'at 4', ...same, rows: counted.slice(2, 4) },
      { truncated: false, next: null, ...same, rows: counted.slice(4) },
    ]);
    expect(Object.keys(JSON.parse(texts[0] as string) as object).slice(0, 3)).toEqual([
      'truncated',
      'totalRows',
      'next',
    ]);
  });

  it('keeps to the bytes without a cursor too', () => {
    const rows = Array.from({ length: 200 }, (_, at) => ['x'.repeat(at % 50), at]);
    for (let maxBytes = 300; maxBytes < 700; maxBytes += 1) {
      const page = pageOf(tableOf(rows), { caps: { maxRows: 100, maxBytes }, cursorChars: 0, fromRow: 0 });
      expect(page.nextRow).not.toBeNull();
      expect(Buffer.byteLength(writePage(page, null))).toBeLessThanOrEqual(maxBytes);
    }
  });

  it('is refused where a row of another page does not fit, so that no walk ends in the middle', () => {
    const rows = [...counted, Array.from({ length: 9000 }, () => 1)];
    expect(() => pageOf(tableOf(rows), { ...ask, fromRow: 0 })).toThrow(GatewayError);
  });

  it('is of another state where any row, their order or the columns are others', () => {
    const stateOf = (table: Table) => pageOf(table, { ...ask, fromRow: 0 }).state;
    const others = [
      tableOf(counted),
      tableOf(counted.with(4, [4, 105])),
      tableOf(counted.toReversed()),
      tableOf(counted.slice(0, 4)),
      tableOf(counted, { columns: ['at', 'then'] }),
    ];
    expect(new Set(others.map(stateOf)).size).toBe(others.length);
    expect(stateOf(tableOf(counted, { about: { of: 'others' } }))).toBe(stateOf(tableOf(counted)));
  });

  it('is of the same state where only columns change that do not identify a row', () => {
    const stateOf = (values: readonly unknown[][]) =>
      pageOf(tableOf(values, { identity: ['at'] }), { ...ask, fromRow: 0 }).state;
    expect(stateOf(counted.map(([at]) => [at, 'later']))).toBe(stateOf(counted));
    expect(stateOf(counted.toReversed())).not.toBe(stateOf(counted));
  });
});
