/** What is kept of a walk: its pages as they will be given, and no more than it may take. */
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { packTable, WALK_LIMITS } from '../../../src/reports/tables/pack.js';

const WALK = 'w'.repeat(22);
const tableOf = (rowCount: number) => ({
  ...{ about: { of: 'tests' }, columns: ['at'], rowCount },
  rows: Array.from({ length: rowCount }, (_, at) => [at]),
});

it('is each page behind the first, with the cursor of the next', () => {
  const { first, further } = packTable(tableOf(5), { caps: { maxRows: 2, maxBytes: 8192 }, walk: WALK });
  expect(first.rest).toBe('"of":"tests","columns":["at"],"rows":[[0],[1]]}');
  expect((further ?? []).map((page) => JSON.parse(gunzipSync(page).toString()) as object)).toEqual([
    { truncated: true, totalRows: 5, next: `${WALK}.2`, of: 'tests', columns: ['at'], rows: [[2], [3]] },
    { truncated: false, totalRows: 5, next: null, of: 'tests', columns: ['at'], rows: [[4]] },
  ]);
});

it('is nothing where the steps are so small that there are too many, and no row is read for it', () => {
  let read = 0;
  const rows = {
    *[Symbol.iterator]() {
      for (; ; read += 1) yield [read];
    },
  };
  const rowCount = WALK_LIMITS.pages + 1;
  const endless = { about: {}, columns: ['at'], rowCount, rows };
  const packed = packTable(endless, { caps: { maxRows: 1, maxBytes: 8192 }, walk: WALK });
  expect(packed.further).toBeNull();
  expect(read).toBe(1);
});

it('is nothing where the pages have too many bytes', () => {
  // Texts that do not shrink: two of them are further apart than a deflater looks back.
  let seed = 7;
  const noise = Array.from({ length: 76_000 }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return String.fromCharCode(48 + (Math.floor(seed / 1024) % 64)).replace('\\', '/');
  }).join('');
  const rows = Array.from({ length: 650 }, (_, at) => [
    noise.slice((at % 2) * 38_000, (at % 2) * 38_000 + 38_000),
  ]);
  const table = { about: {}, columns: ['text'], rowCount: rows.length, rows };
  const caps = { maxRows: 10, maxBytes: 40_000 };
  expect(packTable(table, { caps, walk: WALK }).further).toBeNull();
  const fewer = { ...table, rowCount: 20, rows: rows.slice(0, 20) };
  expect(packTable(fewer, { caps, walk: WALK }).further).toHaveLength(19);
});
