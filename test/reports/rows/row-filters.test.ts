import { expect, it } from 'vitest';
import { parseJson } from '../../../src/reports/rows/json.js';
import { filterFlaws, rowFilters } from '../../../src/reports/rows/row-filters.js';
import { get } from '../query/canonical-request.js';

const FIELDS = ['advertiserId', 'userId'];

function codesFor(query: string, rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const read = rows.map((row) => ({
    values: Object.values(row).map((value) => parseJson(JSON.stringify(value))),
    plan: { columns: Object.keys(row) },
  }));
  return filterFlaws(read, rowFilters(get(query).report, FIELDS)).map(({ code }) => code);
}

it.each<[string, readonly Readonly<Record<string, unknown>>[], readonly string[]]>([
  ['campaignIds[]=2&campaignIds[]=3', [{ campaignId: 2 }, { campaignId: '3' }], []],
  ['campaignIds[]=2', [{ campaignId: 2 }, { campaignId: 3 }], ['rows_of_other_campaigns']],
  ['campaignIds[]=2', [{ campaignId: null }, { spent: 3 }], []],
  ['advertiserId=1', [{ advertiserId: 1 }, { advertiserId: 2 }], ['rows_of_other_advertisers']],
  ['userId=1', [{ userId: 2, advertiserId: 1 }], ['rows_of_other_advertisers']],
  ['advertiserId=1', [{ userId: 2 }], []],
  ['creativeIds[]=5', [{ creativeId: 6 }], ['rows_outside_filter']],
  ['country=DE', [{ country: 'de' }, { country: 'FR' }], ['rows_outside_filter']],
  ['country=DE', [{ country: 'Germany' }, { country: 'France' }], []],
  ['advertiserId=1', [{ advertiserId: '0001' }], []],
  ['campaignIds[]=2', [{ campaignId: '0002' }, { campaignId: '+2' }], []],
  ['bannerIds[]=0005', [{ bannerId: 5 }], []],
  ['campaignIds[]=2', [{ campaignId: '0020' }], ['rows_of_other_campaigns']],
  ['bannerIds[]=5', [{ bannerId: '0005' }], []],
  ['bannerIds[]=9007199254740993', [{ bannerId: '009007199254740992' }], ['rows_outside_filter']],
  ['bannerIds=5|6', [{ bannerId: 5 }], []],
  ['creativeId=!7', [{ creativeId: 8 }], []],
  ['byCampaign=1&spentBased=usd', [{ campaignId: 3, byCampaign: 2 }], []],
])('%s of %j: %j', (query, rows, codes) => {
  expect(codesFor(query, rows)).toEqual(codes);
});
