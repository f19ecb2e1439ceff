import { expect, it } from 'vitest';
import { slowerFiles } from './slow-files.js';

const files = (count: number, s: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.test.ts`, s]));

it('names a long file that took longer than before, slowest first', () => {
  const before = { ...files(12, 4), 'a.test.ts': 20, 'b.test.ts': 30, 'short.test.ts': 1 };
  const took = { ...files(12, 4), 'a.test.ts': 40, 'b.test.ts': 60, 'short.test.ts': 9, 'new.test.ts': 90 };
  expect(slowerFiles(took, before)).toEqual([
    { name: 'b.test.ts', s: 60, beforeS: 30 },
    { name: 'a.test.ts', s: 40, beforeS: 20 },
  ]);
});

it('names no file when the whole run took longer, or when too few are known', () => {
  const before = { ...files(12, 4), 'a.test.ts': 20 };
  expect(slowerFiles({ ...files(12, 12), 'a.test.ts': 60 }, before)).toEqual([]);
  expect(slowerFiles({ 'a.test.ts': 60 }, before)).toEqual([]);
  expect(slowerFiles({ ...files(12, 12), 'a.test.ts': 100 }, before).map(({ name }) => name)).toEqual([
    'a.test.ts',
  ]);
});
