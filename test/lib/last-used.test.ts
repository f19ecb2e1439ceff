import { expect, it } from 'vitest';
import { createLastUsed } from '../../src/lib/last-used.js';

it('remembers as many values as it is told, those that were used last', () => {
  const values = createLastUsed<number>(3);
  for (const number of [1, 2, 3]) values.set(String(number), number);
  expect(values.get('1')).toBe(1);
  values.set('4', 4);
  expect([...values.keys()].sort()).toEqual(['1', '3', '4']);
});
