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

it('a filter with a condition that cannot be read looks into the rows once, however many such conditions it has', () => {
  let looks = 0;
  const rows = Array.from({ length: 100 }, () => ({
    get campaignName() {
      looks += 1;
      return 'Acme';
    },
  }));
  const reading = { rows, columns: [], currency: null, numbers };
  for (const [filter, fault] of [
    ['> '.repeat(500), 'A column is missing before “>”; columns are .'],
    ['a=b '.repeat(250), 'No column is called “a”; columns are .'],
  ] as const) {
    looks = 0;
    expect(filterRows(filter, reading).fault).toBe(fault);
    expect(looks).toBe(rows.length);
  }
});
