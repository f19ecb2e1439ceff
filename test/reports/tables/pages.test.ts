/** Results never cross the caps, and lose nothing: whatever rows look like. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { CURSOR_CHARS, pagesOf, writePage } from '../../../src/reports/tables/pages.js';

const CURSOR = 'c'.repeat(CURSOR_CHARS);
const CAPS = { maxRows: 7, maxBytes: 900 };

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
        const pages = [...pagesOf({ ...given, rowCount: given.rows.length }, CAPS)];
        const texts = pages.map((page) => writePage(page, given.rows.length, CURSOR, false));
        for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(CAPS.maxBytes);
        const read = texts.map((text) => JSON.parse(text) as Read);
        for (const { rows } of read) expect(rows.length).toBeLessThanOrEqual(CAPS.maxRows);
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
    expect(() => [...pagesOf(wide, CAPS)]).toThrow(GatewayError);
    const tall = { about: {}, columns: ['a'], rowCount: 1, rows: [Array.from({ length: 400 }, () => 12345)] };
    expect(() => [...pagesOf(tall, CAPS)]).toThrow(GatewayError);
  });

  it('are refused where what stands beside the rows leaves no room, and say so', () => {
    const table = { about: { totals: 'x'.repeat(900) }, columns: ['a'], rowCount: 1, rows: [[1]] };
    const thrown = (() => {
      try {
        return [...pagesOf(table, CAPS)];
      } catch (error) {
        return error;
      }
    })();
    expect((thrown as GatewayError).options.errors?.[0]?.message).toMatch(
      /^what stands beside the rows takes 9\d\d of the 900 bytes/,
    );
  });

  it('are one where there are no rows', () => {
    const [page, ...more] = pagesOf({ about: { a: 1 }, columns: [], rowCount: 0, rows: [] }, CAPS);
    expect(more).toEqual([]);
    const text = writePage(page as NonNullable<typeof page>, 0, null, false);
    expect(text).toBe('{"truncated":false,"totalRows":0,"next":null,"a":1,"columns":[],"rows":[]}');
  });
});
