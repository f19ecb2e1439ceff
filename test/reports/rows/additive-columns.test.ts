import { describe, expect, it } from 'vitest';
import { isAdditive } from '../../../src/reports/rows/row-names.js';

describe('columns that may be summed', () => {
  it.each(['impressions', 'clicks', 'spent', 'videoViews', 'total_cost', 'postClickConversions', 'Revenue'])(
    '%s',
    (column) => expect(isAdditive(column)).toBe(true),
  );
  it.each([
    ...[
      'reach',
      'uniqueClicks',
      'unique_views',
      'frequency',
      'ctr',
      'cpm',
      'clickRate',
      'costPerClicks',
      'avgSpent',
    ],
    ...[
      'campaignId',
      'id',
      'users',
      'date',
      'campaignName',
      'currency',
      'score',
      'cumulativeSpent',
      'winRate',
    ],
    ...['reachedViews', 'estimatedRevenue', '', '__proto__'],
  ])('not %s', (column) => expect(isAdditive(column)).toBe(false));
});
