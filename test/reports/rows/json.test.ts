import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  JsonError,
  JsonNumber,
  type JsonObject,
  parseJson,
  writeJson,
} from '../../../src/reports/rows/json.js';
import { isJson, rowsText, toPlain } from './json-texts.js';

describe('parseJson', () => {
  it('reads what JSON.parse reads, as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom('', ' ', '\t', '\n  '), (text, space) => {
        const spaced = JSON.stringify(JSON.parse(text), null, space);
        expect(JSON.stringify(toPlain(parseJson(spaced)))).toBe(JSON.stringify(JSON.parse(spaced)));
      }),
    );
  });

  it('reads rows of changing shapes and spellings', () => {
    fc.assert(
      fc.property(rowsText, (text) => {
        expect(JSON.stringify(toPlain(parseJson(text)))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  it('refuses what JSON.parse refuses, and besides only duplicate names', () => {
    const damage = fc.constantFrom(...'{}[],:"\\.0129eE+-tfnu/ \n\u0001\u2028\ufeff');
    const damaged = fc
      .tuple(fc.oneof(rowsText, fc.json()), fc.nat(), fc.nat(2), damage)
      .map(([text, at, cut, char]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + char + text.slice(place + cut);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(() => parseJson(text)).toThrow(JsonError);
          return;
        }
        try {
          expect(JSON.stringify(toPlain(parseJson(text)))).toBe(JSON.stringify(expected));
        } catch (error) {
          if (!(error instanceof JsonError)) throw error;
          expect(error.message).toMatch(/^a duplicate member name/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses every beginning of a text', () => {
    const closed = fc.jsonValue().map((value) => JSON.stringify([value]));
    fc.assert(
      fc.property(fc.oneof(closed, rowsText), (text) => {
        const beginnings = Array.from({ length: text.length }, (_, length) => text.slice(0, length));
        expect(beginnings.filter(isJson)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ...[
      '',
      ' ',
      'NaN',
      'Infinity',
      '-Infinity',
      'undefined',
      'True',
      'nul',
      'truefalse',
      "'a'",
      '"a',
      '"\\x"',
    ],
    ...[
      '"\\u12g4"',
      '"\u0000"',
      '"\u001f"',
      '"\t"',
      '"\u001f"',
      '"\t"',
      '"\n"',
      '"\\',
      '01',
      '-01',
      '+1',
      '.5',
      '1.',
      '-',
      '1e',
      '1e+',
      '1.e1',
      '0x1',
    ],
    ...['1_0', '１', '[1,]', '[,1]', '[1 2]', '[', ']', '{', '{"a":1,}', '{,}', '{"a"}', '{"a":}', '{a:1}'],
    ...['{"a":1 "b":2}', '{"a":1]', '[1}', '1 2', '[] []', '// x\n1', '\ufeff1', '\u00a01', '1\u0000'],
  ])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(JsonError);
  });

  it('keeps the source text of numbers', () => {
    const digits = fc.stringMatching(/^[0-9]{1,40}$/);
    const token = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.constantFrom('0', '7', '1234567890123456789012345678901234567890'),
        fc.option(digits),
        fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits)),
      )
      .map(([sign, whole, fraction, exponent]) => {
        return `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`;
      });
    fc.assert(
      fc.property(fc.array(token, { minLength: 1 }), (tokens) => {
        const list = parseJson(`[${tokens.join(' , ')}]`);
        expect(writeJson(list)).toBe(`[${tokens.join(',')}]`);
        expect(parseJson(tokens[0] as string)).toEqual(new JsonNumber(tokens[0] as string));
      }),
    );
  });

  it('keeps the order of members, also of those that look like indexes', () => {
    const object = parseJson('{"b":1,"10":2,"2":3,"a":4}') as JsonObject;
    expect(object.names).toEqual(['b', '10', '2', 'a']);
  });

  it('takes prototype names for plain data', () => {
    const object = parseJson('{"__proto__":{"polluted":1},"constructor":2,"toString":3}') as JsonObject;
    expect(object.names).toEqual(['__proto__', 'constructor', 'toString']);
    expect(object.get('constructor')).toEqual(new JsonNumber('2'));
    expect(object.get('hasOwnProperty')).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('shares the names of objects with the same members, also when others stand between', () => {
    const rows = parseJson('[{"a":1,"b":2},{"a":3},{"a":4,"b":5},{"a":6}]') as readonly JsonObject[];
    expect(rows[2]?.names).toBe(rows[0]?.names);
    expect(rows[3]?.names).toBe(rows[1]?.names);
    expect(rows.map((row) => row.names)).toEqual([['a', 'b'], ['a'], ['a', 'b'], ['a']]);
  });

  it('overlooks a byte order mark only when told to, and only one', () => {
    expect(parseJson('\ufeff[]', { allowBom: true })).toEqual([]);
    expect(() => parseJson('\ufeff[]')).toThrow(JsonError);
    expect(() => parseJson('\ufeff\ufeff[]', { allowBom: true })).toThrow(JsonError);
    expect(() => parseJson('[\ufeff]', { allowBom: true })).toThrow(JsonError);
  });

  it('keeps lone surrogates', () => {
    expect(parseJson('"\\ud800x\\udc00"')).toBe('\ud800x\udc00');
    expect(writeJson('\ud800x\udc00')).toBe('"\\ud800x\\udc00"');
  });
});

describe('writeJson', () => {
  it('writes back what was read', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        expect(writeJson(parseJson(text))).toBe(text);
      }),
    );
  });

  it('gives a text that reads the same, without spaces or line breaks', () => {
    fc.assert(
      fc.property(rowsText, (text) => {
        const value = parseJson(text);
        const written = writeJson(value);
        expect(written).not.toMatch(/[\r\n]/);
        expect(parseJson(written)).toEqual(value);
      }),
    );
  });

  it('writes numbers as it is told', () => {
    expect(writeJson(parseJson('{"a":[1,{"b":2.50}]}'), (number) => `<${number.text}>`)).toBe(
      '{"a":[<1>,{"b":<2.50>}]}',
    );
  });
});
