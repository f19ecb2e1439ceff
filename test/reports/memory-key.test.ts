import { expect, it } from 'vitest';
import { memoryKeyOf, type Query, type Stamps } from '../../src/reports/query.js';

it('an answer in memory is found again only while its kind, window, caps and retention are as they were', () => {
  const query = { answerKey: 'a', compressFrom: 1024 } as unknown as Query;
  const stamps: Stamps = ['kind', 'window', 'caps', 7, 30];
  const key = memoryKeyOf(query, stamps);
  expect(memoryKeyOf(query, [...stamps])).toBe(key);
  const others: Stamps[] = [
    ['other', 'window', 'caps', 7, 30],
    ['kind', 'other', 'caps', 7, 30],
    ['kind', 'window', 'other', 7, 30],
    ['kind', 'window', 'caps', 8, 30],
    ['kind', 'window', 'caps', 7, 31],
    ['kind', 'window', 'caps', 7, null],
  ];
  for (const other of others) {
    expect(memoryKeyOf(query, other), other.join()).not.toBe(key);
    expect(memoryKeyOf(query, stamps)).toBe(key);
  }
});
