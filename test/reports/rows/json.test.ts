/** JSON without loss: what is read, what is written, and what is refused. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  JsonError,
  JsonNumber,
  type JsonObject,
  parseJson,
  writeJson,
} from '../../../src/reports/rows/json.js';
import { errorOf, escapes, rowsText, spelling, toPlain } from './json-texts.js';

describe('parseJson', () => {
  it('reads what JSON.parse reads, as JSON.parse reads it', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.json({ maxDepth: 8 }), rowsText),
        fc.constantFrom('', ' ', '\t', '\n  '),
        (text, space) => {
          for (const one of [text, JSON.stringify(JSON.parse(text), null, space)])
            expect(JSON.stringify(toPlain(parseJson(one)))).toBe(JSON.stringify(JSON.parse(one)));
        },
      ),
    );
  });

  it('refuses what JSON.parse refuses, and besides only duplicate names', () => {
    const damage = fc.constantFrom('', ...'{}[],:"\\.0129eE+-tfnu/ \n\u0001\u2028\ufeff');
    const damaged = fc
      .tuple(fc.oneof(rowsText, fc.json()), fc.nat(), fc.constantFrom(0, 1, 2, 1e9), damage)
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
      { numRuns: 600 },
    );
  });

  it.each([
    ...['', ' ', 'NaN', '-Infinity', 'True', 'nul', 'truefalse', "'a'", '"a', '"\\x"', '"\\u12g4"'],
    ...[
      '"\u0000"',
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
      '1_0',
      '１',
    ],
    ...['[1,]', '[,1]', '[1 2]', '[', ']', '{"a":1,}', '{,}', '{"a"}', '{"a":}', '{a:1}', '[1}', '1 2'],
    ...['{"a":1 "b":2}', '{"a":1]', '// x\n1', '\ufeff1'],
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
});

describe('writeJson', () => {
  it('gives a text that reads the same, without spaces or line breaks', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue({ maxDepth: 8 }).map((value) => JSON.stringify(value)),
          rowsText,
        ),
        (text) => {
          const value = parseJson(text);
          const written = writeJson(value);
          expect(written).not.toMatch(/[\r\n]/);
          expect(parseJson(written)).toEqual(value);
        },
      ),
    );
  });

  it('writes numbers as it is told', () => {
    expect(writeJson(parseJson('{"a":[1,{"b":2.50}]}'), (number) => `<${number.text}>`)).toBe(
      '{"a":[<1>,{"b":<2.50>}]}',
    );
  });
});

describe('JsonError', () => {
  it.each([
    ['{"a":1,"\\u0061":2}', 7, ['a']],
    ['[{"a":1,"b":2},{"a":1,"b":2,"a":3}]', 28, [1, 'a']],
    ['{"x":[0,{"y":{"k":1,"k":2}}]}', 20, ['x', 1, 'y', 'k']],
    ['{"__proto__":1,"__proto__":2}', 15, ['__proto__']],
  ])('refuses the duplicate name in %s', (text, position, path) => {
    const error = errorOf(text);
    expect(error.message).toMatch(/^a duplicate member name at position/);
    expect([error.position, error.path]).toEqual([position, path]);
  });

  it('refuses a duplicate name wherever it stands', () => {
    const few = fc.uniqueArray(fc.string({ maxLength: 3 }), { minLength: 1 });
    const many = fc.uniqueArray(fc.string({ maxLength: 3 }), { minLength: 15, maxLength: 60 });
    fc.assert(
      fc.property(
        fc.oneof(few, many),
        fc.nat(),
        fc.nat(),
        escapes,
        fc.boolean(),
        (list, from, to, how, repeated) => {
          const again = list[from % list.length] as string;
          const spelt = list.map((name) => JSON.stringify(name));
          const object = `{${spelt.map((name) => `${name}:1`).join(',')}}`;
          spelt.splice(to % (list.length + 1), 0, spelling(again, how));
          const doubled = `{${spelt.map((name) => `${name}:1`).join(',')}}`;
          expect(errorOf(repeated ? `[${object},${doubled}]` : doubled).path.at(-1)).toBe(again);
        },
      ),
    );
  });

  it('shares names with other documents, but few of one document, and no long ones', () => {
    const read = (text: string) => (parseJson(text) as JsonObject).names;
    const names = read('{"shared":1,"n\\u00e4me":2}');
    expect(names).toEqual(['shared', 'näme']);
    expect(read('{ "shared" : [] , "n\\u00e4me" : {} }')).toBe(names);
    expect(read('{"shared":1,"näme":2}')).toEqual(names);
    const long = `{"${'x'.repeat(5000)}":1}`;
    expect(read(long)).not.toBe(read(long));
    const many = `[${Array.from({ length: 20 }, (_, n) => `{"of ${n}":1}`)},{"of 19":2}]`;
    const [one, other] = [parseJson(many), parseJson(many)] as (readonly JsonObject[])[];
    const shared = one?.filter((object, at) => object.names === other?.[at]?.names);
    expect([shared?.length, one?.[20]?.names === one?.[19]?.names]).toEqual([16, true]);
  });

  it('names the place of a fault, and not what stands there', () => {
    const error = errorOf('{"rows":[{"token":"s3cret"},{"token":s3cret}]}');
    expect([error.position, error.path]).toEqual([37, ['rows', 1, 'token']]);
    expect(error.message).toBe('not a JSON value at position 37, below $["rows"][1]["token"]');
  });

  it('gives the path of the object when the fault is between its members', () => {
    expect(errorOf('{"a":{"b":1},"c":{"d":1,,}}').path).toEqual(['c']);
    expect(errorOf('[{"a":1},{').path).toEqual([1]);
  });

  it('counts levels, and takes as many as it is told', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(writeJson(parseJson(nested(64)))).toBe(nested(64));
    expect(errorOf(nested(65)).message).toMatch(/^more than 64 levels at position 64/);
    expect(errorOf('{"a":[]}', 1).path).toEqual(['a']);
    expect(parseJson('1', { maxDepth: 0 })).toEqual(new JsonNumber('1'));
    expect(writeJson(parseJson(nested(1_000), { maxDepth: 1_000 }))).toBe(nested(1_000));
    expect(() => parseJson('1', { maxDepth: 1_001 })).toThrow(RangeError);
  });

  it.each(['{"a":', '[{"a":'])('refuses a million times %s without running out of stack', (opening) => {
    expect(errorOf(opening.repeat(1_000_000)).message).toMatch(/^more than 64 levels/);
  });
});
