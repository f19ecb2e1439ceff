import { expect, it } from 'vitest';
import { renderHanging } from '../../src/cli/table.js';

it('a long text is broken between words at the width of the terminal, and is one line without one', () => {
  const text = 'admin changed the team finance: requests per minute 600 → 30';
  expect(renderHanging('14:02', text, 40)).toBe(
    '14:02  admin changed the team finance:\n       requests per minute 600 → 30\n',
  );
  expect(renderHanging('14:02', text)).toBe(`14:02  ${text}\n`);
});
