import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDirectives } from '../../src/lib/http/cache-directives.js';

describe('readDirectives', () => {
  it.each<[string, Record<string, string>]>([
    ['', { '': '' }],
    ['No-Store', { 'no-store': '' }],
    ['max-age="60", Public', { 'max-age': '60', public: '' }],
    ['max-age=1, max-age=2', { 'max-age': '1' }],
    ['private="set-cookie, max-age=9"', { private: 'set-cookie', 'max-age': '9' }],
    ['max-age=60=90', { 'max-age': '60' }],
    ['max-age = 60', { 'max-age ': ' 60' }],
    ['no-cache;no-store', { 'no-cache;no-store': '' }],
    ['"no-store', { '"no-store': '' }],
    ['__proto__=1, constructor', { ['__proto__']: '1', constructor: '' }],
  ])('reads %j', (header, expected) => {
    expect([...readDirectives(header)]).toEqual(Object.entries(expected));
  });

  it('loses no directive for what stands beside it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
        expect(readDirectives(`${before},no-store,${after}`).has('no-store')).toBe(true);
      }),
    );
  });
});
