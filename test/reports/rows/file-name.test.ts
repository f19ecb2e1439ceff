import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileNameOf } from '../../../src/reports/query.js';
import { get } from '../query/canonical-request.js';

const named = (query: string, endpoint = 'campaigns/get') =>
  fileNameOf({ ...get(query).report, endpoint }, 'csv');

describe('fileNameOf', () => {
  it.each([
    ['advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07', 'campaigns_1_2026-11-01_2026-11-07.csv'],
    ['dateFrom=2026-11-01&dateTo=2026-11-07', 'campaigns_2026-11-01_2026-11-07.csv'],
    ['advertiserId=1', 'campaigns_1.csv'],
    ['', 'campaigns.csv'],
  ])('of %s is %s', (query, name) => {
    expect(named(query)).toBe(name);
  });

  it('says the whole path of a report that is no `get`', () => {
    expect(named('advertiserId=1', 'sites/by-hour/list')).toBe('sites-by-hour-list_1.csv');
  });

  it('is one word of plain characters, whatever the account and the endpoint are', () => {
    const { report } = get('advertiserId=1');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), fc.string(), (account, endpoint) => {
        expect(fileNameOf({ ...report, account, endpoint }, 'csv')).toMatch(
          /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,149}\.csv$/,
        );
      }),
    );
  });
});
