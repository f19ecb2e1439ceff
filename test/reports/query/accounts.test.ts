/** Which accounts a question and an answer name, in whatever words, and what a limited team may ask and write. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountsShown, collectAccounts, isAccountName } from '../../../src/reports/query/accounts.js';
import { parseJson } from '../../../src/reports/rows/json.js';

const PATTERN = /^(?:user|account|advertiser|client|customer|agency|owner|parent)ids?$/;
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

  it.each(['id', 'campaignId', 'advertiser', 'paid', 'superuserid', 'useridx', 'user_id_hash', ''])(
    'does not take %j for one',
    (name) => {
      expect(isAccountName(name, PATTERN)).toBe(false);
    },
  );

  it('gives the same answer every time, with a global pattern too', () => {
    const pattern = new RegExp(PATTERN, 'g');
    expect([1, 2, 3].map(() => isAccountName('user_id', pattern))).toEqual([true, true, true]);
    expect(collect('[{"userId":1},{"x":1,"userId":2},{"y":1,"userId":3}]', pattern)).toEqual(['1', '2', '3']);
  });
});

describe('collectAccounts', () => {
  it.each([
    ['{"advertiser_id":"2"}', ['2']],
    ['{"advertiserId":" 2\\n"}', ['2']],
    ['{"userIds":[1,"2",[3]]}', ['1', '2', '3']],
    ['{"advertiserIds":{"0":4,"x":{"y":5}}}', ['4', '5']],
    ['{"advertiser":{"id":2,"name":"x"}}', ['2']],
    ['{"advertiser":{"ids":[2,3]}}', ['2', '3']],
    ['{"advertisers":[{"id":2},{"id":3}]}', ['2', '3']],
    ['{"agencies":[{"id":2}]}', ['2']],
    ['{"advertiser.id":2,"advertiser[id]":3,"Advertiser ID":4}', ['2', '3', '4']],
    ['[[{"campaign":{"owner":{"id":7}}}]]', ['7']],
  ])('finds those of %s', (text, accounts) => {
    expect(collect(text)).toEqual(accounts);
  });

  it.each([
    ['{"advertiserId":2.0}', '2.0'],
    ['{"advertiserId":"02"}', '02'],
    ['{"advertiserId":"1,2"}', '1,2'],
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
      { numRuns: 300 },
    );
  });

  it('joins no name to one of more than 100 characters, which is no entity', () => {
    const below = (length: number): string[] => collect(`{"${'x'.repeat(length)}":{"id":1}}`, /^x+id$/);
    expect([below(100), below(101)]).toEqual([['1'], []]);
  });
});

describe('accounts shown', () => {
  const shown = (row: unknown, nonAccounts?: readonly string[]): string[] => [
    ...accountsShown(parseJson(typeof row === 'string' ? row : JSON.stringify(row)), PATTERN, nonAccounts),
  ];

  /** A name of words, in each of the ways in which APIs spell one. */
  const spelt = (...words: string[]) =>
    fc.constantFrom(
      words.join('_'),
      words.join('-'),
      words.join('.'),
      words.join(' '),
      words.join('_').toUpperCase(),
      words.join(''),
      words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join(''),
      words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join(''),
      words.length === 1 ? `${words[0]}` : `${words[0]}[${words.slice(1).join('][')}]`,
    );
  const owner = fc.constantFrom(...ENTITIES, 'tenant');
  const key = fc.constantFrom('id', 'ids', 'no', 'number', 'code', 'ref');
  const named = fc.oneof(
    owner.chain((one) => spelt(one)),
    fc.tuple(owner, key).chain(([one, end]) => spelt(one, end)),
    fc.tuple(fc.constantFrom('sub', 'child'), owner).chain(([begin, one]) => spelt(begin, one)),
    fc.tuple(fc.constantFrom('sub', 'campaign'), owner, key).chain((words) => spelt(...words)),
  );
  const FOREIGN = '4711';

  it.each<[unknown, string[]]>([
    [{ advertiser: '2' }, ['2']],
    [{ advertisers: [2, '3'] }, ['2', '3']],
    [{ advertisers: '1,2' }, ['1', '2']],
    [{ users: [2] }, ['2']],
    [{ subaccountid: '2' }, ['2']],
    [{ adv_id: 2, accId: 3 }, ['2', '3']],
    [{ account_no: 2, 'Account Number': 3 }, ['2', '3']],
    [{ advertiser_list: [2] }, ['2']],
    [{ campaignOwner: 2 }, ['2']],
    [{ parentAccount: { id: 2, name: 'x', spent: 7 } }, ['2']],
    [{ account: { value: 2, label: 'Two' } }, ['2']],
    [{ accounts: { data: [{ id: 2 }] } }, ['2']],
    [{ subAccounts: { data: [{ code: '2' }] } }, ['2']],
    [{ advertisers: { 2: { spent: 5 }, 7: { spent: 6 } } }, ['2', '7']],
    [{ advertisers: { 0: { spent: 5 }, 7: { spent: 6 } } }, ['0', '7']],
    [{ advertisers: { 0: { spent: 5 }, 1: { spent: 6 } } }, []],
    [{ byAdvertiser: { 2: { spent: 5 } } }, ['2']],
    [{ extra: '{"advertiserId":2}' }, ['2']],
    [{ extra: ' {"\\u0061dvertiser":{"id":2}}' }, ['2']],
    [{ extra: '[{"info":"{\\"account_no\\":2}"}]' }, ['2']],
    [{ advertiser: '{"id":2}' }, ['2']],
    ['{"advertiser":2.0}', ['2.0']],
  ])('%j names %j', (row, accounts) => {
    expect(shown(row).sort()).toEqual(accounts);
  });

  it.each([
    { id: 7, ids: [8], campaignId: 9, campaign: { id: 3 }, creative_id: 5 },
    { advertisersCount: 3, accounts_total: 2, numClients: 5, userCount: 7, countOfUsers: 8 },
    { users: 120, newUsers: '80', uniqueUsers: 90, active_clients: 4, customers: '1,200', owners: 5 },
    { costPerUser: 12, cost_per_client: 7, perCustomer: 3, clientCost: 5, agencyFee: 3, user_value: 9 },
    { advertiser: 'Acme', advertiserName: '99', accountCurrency: 'USD', agency_name: 'Two 2', client: '' },
    { advertiser: null, account: true, isClient: 1, has_parent: 0, parent: 0, transparent: 1, client: 1.5 },
    { userAgent: '2', user_age: 30, clientIp: '10.0.0.1', accountBalance: 500, ownerDomain: 'a.example' },
    { advertiser: { name: 'Acme', spent: 120, campaign: { id: 3 }, campaigns: [{ id: 4 }] } },
    { byAdvertiser: 1, advanced: 5, accuracy: 7, discount: 3, browser: 2, adv: 'x' },
    { extra: '{"id":2}', name: '[US] Client 2', note: '{not json of advertiser 2', path: '[1] account' },
    { totals: { impressions: 5, campaigns: 3, users: 8 }, meta: { page: 2, total: 9 } },
  ])('finds none in %j', (row) => {
    expect(shown(row)).toEqual([]);
  });

  it('finds a foreign id under whatever name speaks of an account, wherever it stands', () => {
    const value = fc.constantFrom<unknown>(
      FOREIGN,
      [Number(FOREIGN)],
      [FOREIGN],
      { id: Number(FOREIGN) },
      { data: [{ id: FOREIGN }] },
      `[${FOREIGN}]`,
    );
    const place = fc.constantFrom<(row: object) => unknown>(
      (row) => row,
      (row) => ({ data: [{ spent: 5 }, row] }),
      (row) => ({ data: [{ campaign: row }] }),
      (row) => ({ data: [{ extra: JSON.stringify(row) }] }),
    );
    fc.assert(
      fc.property(named, value, place, (name, given, at) => {
        // A text that must be a whole id is refused as it is under the names of the pattern.
        expect(shown(at({ [name]: given })).join()).toContain(FOREIGN);
      }),
      { numRuns: 400 },
    );
  });

  it('finds nothing in honest rows, however they are spelt', () => {
    const honest = fc.oneof(
      spelt('id'),
      fc.constantFrom('campaign', 'creative', 'placement', 'site').chain((one) => spelt(one, 'id')),
      fc
        .tuple(owner, fc.constantFrom('count', 'name', 'currency', 'fee', 'balance', 'spent'))
        .chain((words) => spelt(...words)),
      fc.constantFrom('users', 'clients', 'customers').chain((one) => spelt('new', one)),
      fc.constantFrom('impressions', 'clicks', 'reach', 'spent').chain((one) => spelt(one)),
    );
    fc.assert(
      fc.property(fc.uniqueArray(honest, { maxLength: 6 }), fc.integer(), (names, value) => {
        expect(shown({ data: [Object.fromEntries(names.map((name) => [name, value]))] })).toEqual([]);
      }),
    );
  });

  it('judges names that answers share once, and anew under another owner, pattern or word of the operator', () => {
    const text = '{"advertiser":{"7":1},"other":{"7":1},"buyer_id":"9","clients":["5"]}';
    let judged = 0;
    const counting = Object.assign(/^advertiserids?$/, {
      [Symbol.search](name: string) {
        judged += 1;
        return name.search('^advertiserids?$');
      },
    });
    const shown = (pattern: RegExp, nonAccounts: readonly string[]) => [
      ...accountsShown(parseJson(text), pattern, nonAccounts),
    ];
    const none: readonly string[] = [];
    expect(shown(counting, none)).toEqual(['7', '5']);
    const first = judged;
    expect([shown(counting, none), first > 0, judged]).toEqual([['7', '5'], true, first]);
    expect(shown(/^buyerids?$/, none)).toEqual(['7', '9', '5']);
    expect(shown(counting, ['clients'])).toEqual(['7']);
    expect(shown(counting, none)).toEqual(['7', '5']);
  });

  it('takes an operator’s word for a name, but not for one of the pattern', () => {
    expect(shown({ client: 5, clientId: 6, advertiser: 7 }, ['client', 'clientId'])).toEqual(['6', '7']);
  });

  it('gives up on texts in texts at some depth', () => {
    let text = '{"advertiserId":2}';
    for (let depth = 0; depth < 12; depth += 1) text = JSON.stringify({ a: text });
    expect(shown(text)).toEqual([]);
  });
});
