import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toNdjson } from '../../src/report/ndjson.js';

const rows = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()));

describe('toNdjson', () => {
  it('gives one row a line, each line ended', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const text = toNdjson(list.map((row) => JSON.stringify(row)).join(',\n'));
        expect(text.split('\n')).toEqual([...list.map((row) => JSON.stringify(row)), '']);
      }),
    );
  });

  it('leaves commas before line breaks in strings alone', () => {
    expect(toNdjson('{"a":",\\n"},\n{"a":"b,"}')).toBe('{"a":",\\n"}\n{"a":"b,"}\n');
  });

  it('is empty without rows', () => {
    expect(toNdjson('')).toBe('');
  });
});
