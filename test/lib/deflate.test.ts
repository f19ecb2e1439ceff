import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { deflateSmall } from '../../src/lib/deflate.js';

const textOf = (bytes: number) =>
  Buffer.from(
    Array.from({ length: bytes }, (_, at) => `{"clicks":${(at * 7919) % 977}},`)
      .join('')
      .slice(0, bytes),
  );

describe('a deflated value', () => {
  it.each([0, 1, 255, 256, 257, 4000, 8193, 40_000, 100_000])('of %d bytes inflates to itself', (bytes) => {
    const plain = textOf(bytes);
    expect(inflateRawSync(deflateSmall(plain)).equals(plain)).toBe(true);
  });

  it.each([300, 5000, 60_000])('of %d bytes is as small as with the largest window', (bytes) => {
    const plain = textOf(bytes);
    expect(deflateSmall(plain).length).toBeLessThanOrEqual(deflateRawSync(plain).length * 1.02);
  });
});
