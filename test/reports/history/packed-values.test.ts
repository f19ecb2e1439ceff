import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packValues, unpackValues } from '../../../src/reports/history/packed-values.js';

it('values are unpacked unchanged, also texts of digests', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 50 }),
    fc.stringMatching(/^[0-9a-f]{0,70}$/),
    fc.stringMatching(/^[A-Za-z0-9_-]{0,70}$/),
  );
  const numbers = fc.oneof(
    fc.maxSafeInteger(),
    fc.integer({ min: -2, max: 300 }),
    fc.double({ noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(texts, numbers, fc.constant(null), fc.jsonValue())), (values) => {
      // As JSON has them: without a sign of zero.
      expect(unpackValues(packValues(values))).toEqual(JSON.parse(JSON.stringify(values)));
    }),
  );
});

it('a digest takes its own bytes and one more', () => {
  expect(packValues(['Xge25ygSTJUBcaNKRu_DMC'])).toHaveLength(1 + 17);
  expect(packValues(['a8c562da180ae91a'])).toHaveLength(1 + 8);
  expect(packValues([0, 127, null])).toHaveLength(3);
});

it('invalid bytes have no values', () => {
  for (const bytes of [[5], [0x1f, 0, 0], [0x1f, 0xff, 0, 0, 0], [2, 0x7b, 0x7b]])
    expect(unpackValues(Buffer.from(bytes))).toBeNull();
});
