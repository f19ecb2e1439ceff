import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toNdjson } from '../../../src/reports/rows/row-formats.js';

const rows = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()));

describe('toNdjson', () => {
  it('gives one row a line, each line ended', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const text = toNdjson(list.map((row) => JSON.stringify(row)).join(',\n'));
        // As readers split that know every line break of Unicode.
        const lines = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
        expect(lines.at(-1)).toBe('');
        expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual(
          list.map((row) => JSON.parse(JSON.stringify(row))),
        );
      }),
    );
  });

  it('leaves commas before line breaks in strings alone', () => {
    expect(toNdjson('{"a":",\\n"},\n{"a":"b,"}')).toBe('{"a":",\\n"}\n{"a":"b,"}\n');
  });

  it('escapes the line breaks that JSON leaves raw in texts', () => {
    const row = JSON.stringify({ a: 'x\u2028y\u2029z\u0085' });
    expect(toNdjson(row)).toBe('{"a":"x\\u2028y\\u2029z\\u0085"}\n');
  });

  it('is empty without rows', () => {
    expect(toNdjson('')).toBe('');
  });
});
