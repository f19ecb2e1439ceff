import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonNumber, parseJson, writeJson } from '../../../src/reports/rows/json.js';
import { errorOf, escapes, spelling } from './json-texts.js';

describe('JsonError', () => {
  it.each([
    ['{"a":1,"a":1}', 7, ['a']],
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

  it.each(['[', '{"a":', '[{"a":'])('refuses a million times %s without running out of stack', (opening) => {
    expect(errorOf(opening.repeat(1_000_000)).message).toMatch(/^more than 64 levels/);
  });
});
