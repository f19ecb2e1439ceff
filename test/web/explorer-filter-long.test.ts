/** A filter from an address may be of any length. */
import { expect, it } from 'vitest';
import { filterRows } from '../../src/web/explorer/filter.js';
import { numbers } from '../../src/web/explorer/numbers.js';

it('a filter that is too long for a person to have written is not read, and says so', () => {
  const reading = { rows: [{ clicks: 1 }], columns: [], currency: null, numbers };
  expect(filterRows('a '.repeat(1000), reading)).toEqual({
    rows: [],
    fault: 'The filter is longer than 1000 characters: write a shorter one.',
    understood: null,
    compared: [],
  });
  expect(filterRows('1 '.repeat(500), reading)).toMatchObject({ rows: reading.rows, fault: null });
});
