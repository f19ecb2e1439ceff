/** Names of columns, which of them add up, and what is said when they change. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble } from '../../../src/reports/rows/assemble.js';
import {
  camelCase,
  columnsBySource,
  dateFieldOf,
  dateIndex,
  holdsText,
  isAdditive,
} from '../../../src/reports/rows/row-names.js';
import { schemaChange, schemaMix } from '../../../src/reports/rows/warnings.js';
import { ask, bodyOf } from './assembled.js';
import { rowsEntry } from './entries.js';

const name = fc.oneof(fc.stringMatching(/^[abAB_1]{0,6}$/), fc.string());
const names = fc.uniqueArray(name, { maxLength: 12 });

describe('camelCase', () => {
  it.each([
    ['campaign_id', 'campaignId'],
    ['top_10', 'top_10'],
    ['_private', 'Private'],
    ['a_B', 'a_B'],
    ['trailing_', 'trailing_'],
    ['a_é', 'a_é'],
    ['kebab-case', 'kebab-case'],
  ])('%s → %s', (source, column) => {
    expect(camelCase(source)).toBe(column);
  });
});

describe('columnsBySource', () => {
  it.each([
    [
      ['campaign_id', 'spent'],
      ['campaignId', 'spent'],
    ],
    [
      ['campaignId', 'campaign_id'],
      ['campaignId', 'campaign_id'],
    ],
    [
      ['a_b_c', 'aB_c', 'a_bC', 'x_y'],
      ['aBC', 'aB_c', 'a_bC', 'xY'],
    ],
  ])('%j → %j', (sources, columns) => {
    expect([...columnsBySource(sources).values()]).toEqual(columns);
  });

  it('keeps names distinct, in place, in camelCase or as they were, and each camelCase name once', () => {
    fc.assert(
      fc.property(names, (sources) => {
        const columns = [...columnsBySource(sources).values()];
        expect(new Set(columns).size).toBe(sources.length);
        for (const [index, source] of sources.entries()) {
          expect([source, camelCase(source)]).toContain(columns[index]);
          expect(columns).toContain(camelCase(source));
          expect(camelCase(camelCase(source))).toBe(camelCase(source));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the date member', () => {
  it.each([
    [['day', 'date'], undefined, 'date'],
    [['day'], undefined, 'day'],
    [['stat_date', 'date'], 'statDate', 'statDate'],
    [['x'], undefined, 'day'],
  ])('of %j with %j configured is %s', (sources, configured, field) => {
    expect(dateFieldOf(sources, configured)).toBe(field);
  });

  it.each([
    [['a', 'stat_date'], 'statDate', 1],
    [['a', 'statDate'], 'stat_date', 1],
    [['statDate', 'stat_date'], 'stat_date', 1],
    [['stat_date', 'statDate'], 'statDate', 1],
    [['Date'], 'date', -1],
    [['a'], 'date', -1],
  ])('in %j under %s is at %d', (sources, field, index) => {
    expect(dateIndex(sources, field)).toBe(index);
  });
});

describe('holdsText', () => {
  it.each(
    'id campaignID siteDomain click_url zip postal_code currency CAMPAIGN_ID campaign-id set10Id'.split(' '),
  )('is true for %s', (source) => expect(holdsText(source, camelCase(source))).toBe(true));

  it.each('bid PAID maxBid valid ids idle names zipped currency_rate'.split(' '))(
    'is false for %j',
    (source) => expect(holdsText(source, camelCase(source))).toBe(false),
  );

  it('looks at either spelling', () => {
    expect([holdsText('x', 'someTitle'), holdsText('some_label', 'x')]).toEqual([true, true]);
  });
});

describe('columns that may be summed', () => {
  it.each(['impressions', 'clicks', 'spent', 'videoViews', 'total_cost', 'postClickConversions', 'Revenue'])(
    '%s',
    (column) => expect(isAdditive(column)).toBe(true),
  );
  it.each([
    ...'reach uniqueClicks unique_views frequency ctr cpm clickRate costPerClicks avgSpent campaignId'.split(
      ' ',
    ),
    ...'users date currency score cumulativeSpent winRate reachedViews estimatedRevenue __proto__'.split(' '),
  ])('not %s', (column) => expect(isAdditive(column)).toBe(false));
});

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
    rowsEntry([{ date, campaignId: 5, ...row }], {
      lastDay: date,
      splitFrom: { from: date, to: date, sortedHash: date, generation: 'g' },
    });
  const metaOf = (...parts: ReturnType<typeof dayOf>[]) =>
    JSON.parse(bodyOf(assemble(ask({ parts }))).toString()).meta;
  const [old, now] = [dayOf('2026-11-09', { spent: 1 }), dayOf('2026-11-10', { spent: 2, views: 3 })];
  expect(metaOf(old, now).warnings).toEqual([
    { code: 'schema_mixed', message: expect.stringContaining('some days lack views.') },
  ]);
  expect(metaOf(old, dayOf('2026-11-10', { spent: 2 }))).not.toHaveProperty('warnings');
});
