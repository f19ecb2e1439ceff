import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeVersioned, encodeVersioned } from '../../../src/store/redis/redis-cache.js';

describe('a body at a key of its own', () => {
  it('gives its value back, as a view and not as a copy', () =>
    fc.assert(
      fc.property(fc.uint8Array(), fc.integer({ min: 0, max: 2 ** 48 - 1 }), (bytes, version) => {
        const encoded = encodeVersioned(Buffer.from(bytes), version);
        const value = decodeVersioned(encoded, version);
        expect(value).toEqual(Buffer.from(bytes));
        expect(value?.buffer).toBe(encoded.buffer);
        expect(encoded.readUIntBE(2, 6)).toBe(version);
      }),
    ));

  it.each([
    ['nothing', null],
    ['an empty value', Buffer.alloc(0)],
    ['a head cut short', encodeVersioned(Buffer.alloc(0), 1).subarray(0, 7)],
    ['a value without the mark', Buffer.from('{"data":[1,2,3]}')],
    ['a value of another version', encodeVersioned(Buffer.from('body'), 2)],
    ['half of the mark', Buffer.from([0xd6, 0x01, 0, 0, 0, 0, 0, 1, 65])],
  ])('is not found in %s', (_, bytes) => {
    expect(decodeVersioned(bytes, 1)).toBeNull();
  });
});
