import { describe, expect, it } from 'vitest';
import { nameFault, parameterTable, plainName } from '../../../src/reports/query/parameters.js';

const TABLE = parameterTable(['advertiserId', 'userId']);

describe('parameterTable', () => {
  it('knows the documented parameters and the account fields', () => {
    expect(Object.fromEntries(TABLE.kinds)).toEqual({
      byDate: 'flag',
      byCampaign: 'flag',
      dateFrom: 'date',
      dateTo: 'date',
      spentBased: 'text',
      campaignIds: 'set',
      advertiserId: 'int',
      userId: 'int',
    });
  });

  it('knows other account fields where they are configured', () => {
    const table = parameterTable(['clientId']);
    expect(table.kinds.get('clientId')).toBe('int');
    expect(table.kinds.has('advertiserId')).toBe(false);
  });
});

describe('plainName', () => {
  it.each([
    'advertiserId',
    'ADVERTISERID',
    'advertiser_id',
    'advertiser.id',
    'advertiser-Id',
    'advertiserId[]',
    ' advertiserId\t',
  ])('makes one of %j', (name) => {
    expect(plainName(name)).toBe('advertiserid');
  });
});

describe('nameFault', () => {
  it.each([
    'advertiserId',
    'byDate',
    'campaignIds',
    'campaignIds[]',
    'x',
    'x[]',
    'X1_y',
    'accountId',
    'page',
  ])('lets %j pass', (name) => {
    expect(nameFault(name, TABLE)).toBeNull();
  });

  it.each([
    ['advertiserid', 'is not known here: did you mean `advertiserId`?'],
    ['advertiser_id', 'is not known here: did you mean `advertiserId`?'],
    ['user_id', 'is not known here: did you mean `userId`?'],
    ['campaign_ids[]', 'is not known here: did you mean `campaignIds`?'],
    ['advertiserId[]', 'takes one value, not a list'],
    ['byDate[]', 'takes one value, not a list'],
    ['toString', 'is not allowed as a parameter name'],
    ['valueOf[]', 'is not allowed as a parameter name'],
  ])('refuses %j: %s', (name, message) => {
    expect(nameFault(name, TABLE)).toBe(message);
  });

  it.each(['', '[]', '1x', 'a.b', 'a-b', 'a b', 'a[0]', 'a[]b', '[a]', 'ä', 'a\n', '_x'])(
    'refuses %j as no name',
    (name) => {
      expect(nameFault(name, TABLE)).toMatch(/^is not a parameter name/);
    },
  );
});
