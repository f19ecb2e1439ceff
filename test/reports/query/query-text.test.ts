import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import {
  parseQueryText,
  type QueryPair,
  writeQueryText,
} from '../../../src/reports/query/given-parameters.js';

const faults = (text: string) => {
  try {
    parseQueryText(text);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.options.errors?.map(({ param }) => param);
  }
};

/** Whole characters, none of them a control character. */
const text = fc
  .string({ unit: 'binary' })
  .filter((some) => [...some].every((character) => character >= ' ' && character !== '\u007f'));
const pairs = fc.array(fc.record({ name: text, value: text }), { maxLength: 20 });

describe('writeQueryText and parseQueryText', () => {
  it('are each other’s inverse', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const read = parseQueryText(writeQueryText(given));
        expect(read).toEqual(given);
      }),
    );
  });

  it('writes what every other reader of forms reads back', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const read = [...new URLSearchParams(writeQueryText(given))].map(
          ([name, value]): QueryPair => ({ name, value }),
        );
        expect(read).toEqual(given);
      }),
    );
  });

  it('writes only characters that need no encoding anywhere', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        expect(writeQueryText(given)).toMatch(/^[A-Za-z0-9._~%=&-]*$/);
      }),
    );
  });

  it('reads whatever it accepts as URLSearchParams does', () => {
    const query = fc.string({ unit: fc.constantFrom(...'ab&&==+%%2061fFüé;[]#?/'.split('')), maxLength: 12 });
    fc.assert(
      fc.property(query, (given) => {
        if (faults(given) !== null) return;
        // A first question mark would be taken for the target's.
        const read = [...new URLSearchParams(`?${given}`)].map(([name, value]) => ({ name, value }));
        expect(parseQueryText(given)).toEqual(read);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parseQueryText', () => {
  it.each<[string, QueryPair[]]>([
    ['', []],
    ['&', []],
    ['a', [{ name: 'a', value: '' }]],
    ['a=', [{ name: 'a', value: '' }]],
    ['a=b=c', [{ name: 'a', value: 'b=c' }]],
    ['a=1;b=2', [{ name: 'a', value: '1;b=2' }]],
    ['a=1%26b%3D2', [{ name: 'a', value: '1&b=2' }]],
    ['%61=%2b+%2B', [{ name: 'a', value: '+ +' }]],
    ['a=%F0%9F%98%80', [{ name: 'a', value: '😀' }]],
    [
      'b=1&a=2&b=3',
      [
        { name: 'b', value: '1' },
        { name: 'a', value: '2' },
        { name: 'b', value: '3' },
      ],
    ],
  ])('reads %j', (query, expected) => {
    expect(parseQueryText(query)).toEqual(expected);
  });

  it.each([
    ['a=%', 'a'],
    ['a=%6', 'a'],
    ['a=%zz', 'a'],
    ['a=%c0%80', 'a'],
    ['a=%ed%a0%80', 'a'],
    ['a=%ff', 'a'],
    ['a=%00', 'a'],
    ['a=%0d%0a', 'a'],
    ['a=%7f', 'a'],
    ['a=ü', 'a'],
    ['a= ', 'a'],
    ['%ff=1', ''],
  ])('refuses %j', (query, param) => {
    expect(faults(query)).toEqual([param]);
  });

  it('takes 256 parameters and no more', () => {
    const query = (count: number) => Array.from({ length: count }, () => 'a=1').join('&');
    expect(parseQueryText(query(256))).toHaveLength(256);
    expect(faults(query(257))).toEqual(['']);
  });
});
