/** Columns of rows that are others than before, or on other days. */
import { describe, expect, it } from 'vitest';
import { assemble } from '../../../src/reports/rows/assemble.js';
import { schemaChange, schemaMix } from '../../../src/reports/rows/warnings.js';
import { ask, bodyOf } from './assembled.js';
import { rowsEntry } from './entries.js';

const columnsOf = (...rows: readonly object[]) => rowsEntry(rows).header;

describe('columns', () => {
  it('that came, went, or became texts are told; how many digits numbers have is not', () => {
    const before = columnsOf({ spent: '1.25', clicks: 3, reach: 5 });
    const after = columnsOf({ spent: '1.2500', clicks: 'none', views: 1 });
    expect(schemaChange(before, after)).toEqual({
      added: ['views'],
      removed: ['reach'],
      retyped: ['clicks'],
    });
    expect(schemaChange(before, columnsOf({ spent: '7', clicks: 4, reach: null }))).toEqual({
      added: [],
      removed: [],
      retyped: [],
    });
  });

  it('of days are mixed where some have others', () => {
    const [one, other] = [
      columnsOf({ spent: 1, clicks: 2 }),
      columnsOf({ spent: 'n/a', clicks: 2, views: 3 }),
    ];
    expect(schemaMix([one, one])).toBeNull();
    expect(schemaMix([one, columnsOf({ spent: 9.5, clicks: 0 })])).toBeNull();
    expect(schemaMix([one, other, one])).toEqual({ partial: ['views'], retyped: ['spent'] });
    expect(schemaMix([])).toBeNull();
  });
});

it('an answer of days with different columns says so', () => {
  const dayOf = (date: string, row: object) =>
    rowsEntry([{ date, ...row }], {
      lastDay: date,
      splitFrom: { from: date, to: date, sortedHash: date, generation: 'g' },
    });
  const metaOf = (...parts: ReturnType<typeof dayOf>[]) =>
    JSON.parse(bodyOf(assemble(ask({ parts }))).toString()).meta;
  const [old, now] = [dayOf('2026-11-09', { spent: 1 }), dayOf('2026-11-10', { spent: 2, views: 3 })];
  expect(metaOf(old, now).warnings).toEqual([
    { code: 'schema_mixed', message: expect.stringContaining('on some days there is no views.') },
  ]);
  expect(metaOf(old, dayOf('2026-11-10', { spent: 2 }))).not.toHaveProperty('warnings');
});
