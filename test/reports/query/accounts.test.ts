import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACCOUNT_PATTERN_SOURCE,
  collectAccounts,
  isAccountName,
} from '../../../src/reports/query/accounts.js';
import { parseJson } from '../../../src/reports/rows/json.js';

const PATTERN = new RegExp(ACCOUNT_PATTERN_SOURCE);
const collect = (text: string, pattern = PATTERN): string[] => [...collectAccounts(parseJson(text), pattern)];

const ENTITIES = ['user', 'account', 'advertiser', 'client', 'customer', 'agency', 'owner', 'parent'];
/** Any spelling of a name: case and separators anywhere. */
const spelt = (name: string) =>
  fc
    .array(fc.tuple(fc.boolean(), fc.constantFrom('', '', '', '_', '.', '-', '[', ']', ' ', '\t')), {
      minLength: name.length,
      maxLength: name.length,
    })
    .map((how) =>
      how
        .map(([upper, mark], at) => (upper ? name.charAt(at).toUpperCase() : name.charAt(at)) + mark)
        .join(''),
    );
const entity = fc.constantFrom(...ENTITIES);
const accountName = entity.chain((name) => fc.constantFrom(`${name}id`, `${name}ids`)).chain(spelt);

describe('isAccountName', () => {
  it('knows an account name in every spelling', () => {
    fc.assert(
      fc.property(accountName, (name) => {
        expect(isAccountName(name, PATTERN)).toBe(true);
      }),
    );
  });

  it.each([
    'id',
    'ids',
    'campaignId',
    'advertiser',
    'advertiserName',
    'paid',
    'superuserid',
    'useridx',
    '',
    'user_id_hash',
  ])('does not take %j for one', (name) => {
    expect(isAccountName(name, PATTERN)).toBe(false);
  });

  it('gives the same answer every time, with a global pattern too', () => {
    const pattern = new RegExp(ACCOUNT_PATTERN_SOURCE, 'g');
    expect([1, 2, 3].map(() => isAccountName('user_id', pattern))).toEqual([true, true, true]);
    expect(collect('[{"userId":1},{"x":1,"userId":2},{"y":1,"userId":3}]', pattern)).toEqual(['1', '2', '3']);
  });
});

describe('collectAccounts', () => {
  it.each([
    ['{"advertiserId":2}', ['2']],
    ['{"advertiser_id":"2"}', ['2']],
    ['{"advertiserId":" 2\\n"}', ['2']],
    ['{"userIds":[1,"2",[3]]}', ['1', '2', '3']],
    ['{"advertiserIds":{"0":4,"x":{"y":5}}}', ['4', '5']],
    ['{"advertiser":{"id":2,"name":"x"}}', ['2']],
    ['{"advertiser":{"ids":[2,3]}}', ['2', '3']],
    ['{"advertisers":[{"id":2},{"id":3}]}', ['2', '3']],
    ['{"agencies":[{"id":2}]}', ['2']],
    ['{"users":{"0":{"id":2},"1":{"id":3}}}', ['2', '3']],
    ['{"advertiser.id":2,"advertiser[id]":3,"Advertiser ID":4}', ['2', '3', '4']],
    ['[[{"campaign":{"owner":{"id":7}}}]]', ['7']],
    ['{"data":[{"user_id":1,"spent":5},{"user_id":2,"spent":5}]}', ['1', '2']],
    ['{"advertiserId":12345678901234567890}', ['12345678901234567890']],
  ])('finds those of %s', (text, accounts) => {
    expect(collect(text)).toEqual(accounts);
  });

  it.each([
    ['{"advertiserId":2.0}', '2.0'],
    ['{"advertiserId":2e0}', '2e0'],
    ['{"advertiserId":-2}', '-2'],
    ['{"advertiserId":"02"}', '02'],
    ['{"advertiserId":"1,2"}', '1,2'],
    ['{"advertiserId":"1 2"}', '1 2'],
    ['{"advertiserId":true}', 'true'],
    ['{"advertiserId":"1\\u00002"}', '1\u00002'],
  ])('gives what is no id in %s as it is', (text, value) => {
    expect(collect(text)).toEqual([value]);
  });

  it.each([
    '{"advertiserId":null,"userId":"","accountIds":[],"ownerId":"  "}',
    '{"campaignId":1,"id":2,"campaign":{"id":3}}',
    '{"advertiser":{"name":"x","campaign":{"id":3}}}',
    '"advertiserId"',
    '["advertiserId",2]',
    '5',
  ])('finds none in %s', (text) => {
    expect(collect(text)).toEqual([]);
  });

  it('misses nothing, however deep and however spelt, and adds nothing', () => {
    const id = fc.integer({ min: 1 });
    const scalar = fc.oneof(fc.constantFrom(null, true, 'x'), fc.integer({ min: -9, max: 0 }));
    const member = fc.constantFrom('a', 'campaign', 'id', 'name', 'data', 'filter', '0', '__proto__');
    const given = (value: number) =>
      fc.constantFrom<unknown>(value, String(value), [value], { '0': [value] });
    const planted = fc.oneof(
      fc.tuple(accountName, id.chain(given)),
      fc.tuple(
        entity.chain(spelt),
        id.chain((value) => fc.constantFrom({ id: value }, { ID: [value] })),
      ),
      fc.tuple(
        entity.map((name) => `${name}s`).chain(spelt),
        id.chain((value) => fc.constantFrom<unknown>([{ id: value }], { '0': { _id: value } })),
      ),
    );
    const { value: tree } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        scalar.map((value) => JSON.stringify(value)),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc
          .tuple(
            fc.uniqueArray(fc.tuple(member, tie('value')), { selector: ([name]) => name, maxLength: 4 }),
            fc.uniqueArray(planted, { selector: ([name]) => name, maxLength: 2 }),
          )
          .map(([plain, accounts]) => {
            const members = plain.map(([name, json]) => `${JSON.stringify(name)}:${json}`);
            const named = accounts.map(([name, json]) => `${JSON.stringify(name)}:${JSON.stringify(json)}`);
            return `{${[...named, ...members].join(',')}}`;
          }),
      ),
    }));
    fc.assert(
      fc.property(tree, (text) => {
        // Only planted values are positive numbers.
        const planted = [...text.matchAll(/(?<=[:["])[1-9][0-9]*(?=[\],}"])/g)].map(([value]) => value);
        expect(new Set(collect(text))).toEqual(new Set(planted));
      }),
      { numRuns: 1_000 },
    );
  });

  it('joins no name to one of more than 100 characters, which is no entity', () => {
    const below = (length: number): string[] => collect(`{"${'x'.repeat(length)}":{"id":1}}`, /^x+id$/);
    expect([below(100), below(101)]).toEqual([['1'], []]);
  });

  it('takes the pattern it is given', () => {
    expect(collect('{"brandId":7,"userId":8}', /^brandid$/)).toEqual(['7']);
  });
});
