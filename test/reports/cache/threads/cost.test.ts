import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isHeavyToEncode,
  isHeavyToFormat,
  isHeavyToRead,
  isHeavyToTable,
} from '../../../../src/reports/cache/threads/worker-pool.js';
import { inPieces } from './large-answer.js';

interface Answer {
  readonly rows: number;
  readonly columns: number;
  readonly text: number;
}

/** Rows with the same names, or each with names of its own. */
function answerOf({ rows, columns, text }: Answer, ownNames = false): Buffer {
  const row = (at: number) =>
    `{${Array.from({ length: columns }, (_, column) => `"m${ownNames ? at * columns + column : column}":"${'x'.repeat(text)}"`)}}`;
  return Buffer.from(`{"data":[${Array.from({ length: rows }, (_, at) => row(at))}]}`);
}

const answers = fc.record({
  rows: fc.integer({ min: 1, max: 3000 }),
  columns: fc.integer({ min: 1, max: 12 }),
  text: fc.integer({ min: 0, max: 40 }),
});

const formatTask = ({ rows, columns, text }: Answer, format: 'csv' | 'ndjson') => ({
  ...{ format, rowCount: rows, bom: false },
  chunks: [Buffer.alloc(rows * columns * (text + 6))],
  columns: Array.from({ length: columns }, (_, at) => `m${at}`),
});

describe('what an answer costs', () => {
  it('does not depend on the pieces in which it came', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), fc.integer({ min: 1000, max: 70_000 }), (answer, own, size) => {
        const body = answerOf(answer, own);
        for (const isHeavy of [isHeavyToRead, isHeavyToTable])
          expect(isHeavy(inPieces(body, size))).toBe(isHeavy([body]));
      }),
      { numRuns: 40 },
    );
  });

  it('grows with rows, with columns and with bytes', () => {
    fc.assert(
      fc.property(answers, fc.constantFrom('rows', 'columns', 'text'), (answer, grown) => {
        const more = { ...answer, [grown]: answer[grown as 'rows'] * 2 };
        for (const isHeavy of [isHeavyToRead, isHeavyToTable])
          if (isHeavy([answerOf(answer)])) expect(isHeavy([answerOf(more)])).toBe(true);
        for (const format of ['csv', 'ndjson'] as const)
          if (isHeavyToFormat(formatTask(answer, format)))
            expect(isHeavyToFormat(formatTask(more, format))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('is more than 5 ms of work from 10,000 cells on, and less below 5,000 of short texts', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const { rows, columns, text } = answer;
        const isHeavy = isHeavyToRead([answerOf(answer)]);
        expect(isHeavyToFormat(formatTask(answer, 'csv'))).toBe(
          rows * columns * 500 + rows * columns * (text + 6) * 15 > 5_000_000,
        );
        if (rows * columns > 10_000) expect(isHeavy).toBe(true);
        if (rows * columns < 5000 && text < 20) expect(isHeavy).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it('is told from names too: each that is new makes another shape of rows', () => {
    expect(isHeavyToRead([answerOf({ rows: 1200, columns: 2, text: 1 })])).toBe(false);
    expect(isHeavyToRead([answerOf({ rows: 1200, columns: 2, text: 1 }, true)])).toBe(true);
    // Empty cells of a table count.
    expect(isHeavyToTable([answerOf({ rows: 300, columns: 2, text: 1 })])).toBe(false);
    expect(isHeavyToTable([answerOf({ rows: 300, columns: 2, text: 1 }, true)])).toBe(true);
  });

  it('is the copy of its text where no row is parsed', () => {
    const narrow = { rows: 20_000, columns: 1, text: 0 };
    expect(isHeavyToFormat(formatTask(narrow, 'ndjson'))).toBe(false);
    expect(isHeavyToFormat(formatTask(narrow, 'csv'))).toBe(true);
    expect(isHeavyToFormat({ ...formatTask(narrow, 'ndjson'), fields: ['m0'] })).toBe(true);
    expect(isHeavyToFormat({ ...formatTask(narrow, 'ndjson'), rewrites: [[['m0', 'p']]] })).toBe(true);
  });

  it('counts entries of next to nothing, when they are made ready for the store', () => {
    const entries = (count: number) =>
      Array.from({ length: count }, () => ({ header: { accounts: ['1'] }, body: Buffer.from('{}') }));
    expect(isHeavyToEncode(entries(200))).toBe(false);
    expect(isHeavyToEncode(entries(365))).toBe(true);
  });
});
