import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createL1, type Finished } from '../../../src/reports/cache/finished.js';

const answerOf = (bytes: number) => ({ bytes }) as Finished;

describe('createL1', () => {
  it('gives back what was set, and nothing else', () => {
    const l1 = createL1(1_000_000);
    const value = answerOf(10);
    l1.set('a', value);
    expect(l1.get('a')).toBe(value);
    expect(l1.get('b')).toBeUndefined();
  });

  it('never holds more bytes than it may', () => {
    const sets = fc.array(fc.tuple(fc.constantFrom(...'abcdefghij'), fc.integer({ min: 0, max: 30_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(sets, (given) => {
        const l1 = createL1(100_000);
        for (const [key, bytes] of given) {
          l1.set(key, answerOf(bytes));
          expect(l1.bytes).toBeLessThanOrEqual(100_000);
        }
        const held = [...'abcdefghij']
          .map((key) => l1.get(key)?.bytes)
          .filter((bytes) => bytes !== undefined);
        expect(l1.entries).toBe(held.length);
        expect(l1.bytes).toBeGreaterThanOrEqual(held.reduce((sum, bytes) => sum + bytes, 0));
      }),
    );
  });

  it('lets go of what was longest unused', () => {
    const l1 = createL1(10_000);
    for (const key of ['a', 'b', 'c', 'd']) l1.set(key, answerOf(1400));
    l1.get('a');
    l1.set('e', answerOf(1400));
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => l1.get(key) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
      true,
    ]);
  });

  it('does not take one body of more than a quarter, and forgets the older one in its place', () => {
    const l1 = createL1(10_000);
    for (const key of ['a', 'b']) l1.set(key, answerOf(100));
    l1.set('a', answerOf(2501));
    expect(l1.get('a')).toBeUndefined();
    expect(l1.get('b')).toBeDefined();
  });
});
