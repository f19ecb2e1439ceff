/** What a team that is limited to advertiser 1 may ask and write: no foreign spelling passes, every honest one does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkAccount, checkPassedQuery } from '../../../src/api/proxy/checks.js';
import type { RouteRule } from '../../../src/config/schema.js';
import type { GatewayError } from '../../../src/errors.js';
import { accountLookalikes } from '../../../src/reports/query/account-lookalikes.js';
import { type Json, type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import { checkAdvertiser } from '../../../src/teams/policy/authorize.js';
import { callerOf } from '../../support/callers.js';
import { codeOf, thrownBy } from '../../support/problems.js';
import { get, post, RULES } from './canonical-request.js';

const CALLER = callerOf({ advertisers: [1] });
const RULE: RouteRule = {
  method: 'POST',
  path: '/api/v1/campaign/get',
  read: true,
  account: ['body.userId'],
  pathChars: '',
};

const report = (request: ReturnType<typeof get>) => () =>
  checkAdvertiser(CALLER, {
    accounts: request.report.accounts,
    namesAccount: request.report.namesAccount,
    accountFields: RULES.accountFields,
    lookalikes: request.lookalikes,
  });
const pass =
  (body: object, query = '', rule = RULE) =>
  () =>
    checkAccount(
      { caller: CALLER, rule, path: rule.path },
      {
        pairs: checkPassedQuery(query).pairs,
        parsed: parseJson(JSON.stringify({ userId: 1, ...body })) as JsonObject,
      },
      { routes: [], accountPattern: RULES.accountPattern },
    );
/** The same body wherever bodies go: to a report, to a read and to a write. */
const everywhere = (body: object) => [
  report(post(JSON.stringify({ advertiserId: 1, ...body }))),
  pass(body),
  pass(body, '', { ...RULE, read: false }),
];

const owner = fc.constantFrom(
  'user',
  'account',
  'advertiser',
  'client',
  'customer',
  'agency',
  'owner',
  'parent',
);
const spelt = fc
  .tuple(
    owner,
    fc.constantFrom<(one: string) => string>(
      (one) => one,
      (one) => `${one}s`,
      (one) => one.toUpperCase(),
      (one) => `sub_${one}`,
      (one) => `sub${one[0]?.toUpperCase()}${one.slice(1)}s`,
      (one) => `${one}List`,
    ),
  )
  .map(([one, spell]) => spell(one));
const foreign = fc.constantFrom<unknown>(
  2,
  '2',
  [2],
  [1, 2],
  '1,2',
  { any: 2 },
  [{ at: ['2'] }],
  2.0,
  '02',
  ' 2',
);
const anyName = fc.constantFrom('include', 'ids', 'in', 'which', 'x', 'no', 'campaigns', 'name', 'also');
const PLACES: readonly ((value: object) => object)[] = [
  (value) => value,
  (value) => ({ x: value }),
  (value) => ({ x: [{ y: value }] }),
];
const placed = fc.constantFrom(...PLACES, (value: object) => ({ filter: { and: [value] } }));
const by = fc.constantFrom('by', 'groupBy', 'dimension', 'dimensions', 'field', 'level', 'entity');
const choice = fc.constantFrom('id', 'ids', 'values', 'in', 'include', 'which', 'list');

describe('a limited team', () => {
  it('names no other account in an object that names its own', () => {
    fc.assert(
      fc.property(spelt, anyName, foreign, placed, (name, beside, value, at) => {
        const body = at({ [name]: { id: 1, [beside]: value } });
        for (const ask of everywhere(body)) {
          expect(codeOf(ask)).toBe('advertiser_forbidden');
          expect((thrownBy(ask) as GatewayError).options.detail).toMatch(
            new RegExp(`${Object.keys(body)[0]}|body`),
          );
        }
      }),
    );
  });

  it('chooses by no other account, by whatever word and in whatever member', () => {
    fc.assert(
      fc.property(by, spelt, choice, foreign, placed, (how, what, member, value, at) => {
        for (const ask of everywhere(at({ group: { [how]: what, [member]: value } })))
          expect(codeOf(ask), `${how} ${what} ${member}`).toBe('advertiser_forbidden');
      }),
    );
  });

  it('names no other account by ids of nobody, or behind a dimension, in a query', () => {
    const one = fc.constantFrom('2', '02', '2.0', '1,2', '1|2', 'acme');
    const ids = fc.constantFrom('id', 'ids', 'ids[]', 'IDS', 'entity_ids[]', 'includeIds', 'idIn', 'aid');
    fc.assert(
      fc.property(ids, one, (name, v) => {
        expect(codeOf(report(get(`advertiserId=1&${name}=${v}`)))).toBe('advertiser_forbidden');
      }),
    );
    // `groupBy` is refused by itself, for it is nearly `byDate`.
    const split = by.filter((one) => one !== 'groupBy');
    const number = fc.constantFrom('2', '02', '2.0', '1,2');
    const member = fc.constantFrom('ids', 'values', 'in', 'include', 'list', 'filterValue', 'fieldIds', 'v');
    fc.assert(
      fc.property(split, spelt, member, number, (how, what, name, v) => {
        expect(codeOf(report(get(`advertiserId=1&${how}=${what}&${name}=${v}`)))).toBe(
          'advertiser_forbidden',
        );
        expect(codeOf(pass({}, `${how}=${what}&${name}[]=${v}`))).toBe('advertiser_forbidden');
        expect(codeOf(pass({}, `g[${how}]=${what}&g[${name}][]=${v}`))).toBe('advertiser_forbidden');
      }),
    );
  });

  it('names no other account as a part of a list, or in a list with a name', () => {
    for (const x of [['advertiser', 2], [['user', '=', 2]], { and: [['client', 'in', [1, 2]]] }])
      expect(codeOf(report(post(JSON.stringify({ advertiserId: 1, x })))), JSON.stringify(x)).toBe(
        'advertiser_forbidden',
      );
    for (const x of [['advertiser', 1], ['user', 'date'], [['campaign', '=', 7]], ['Acme', 2]])
      expect(codeOf(report(post(JSON.stringify({ advertiserId: 1, x })))), JSON.stringify(x)).toBeNull();
    expect(codeOf(report(get('advertiserId=1&x[]=advertiser&x[]=2')))).toBe('advertiser_forbidden');
    expect(codeOf(report(get('advertiserId=1&x[]=advertiser&x[]=1')))).toBeNull();
    expect(codeOf(pass({}, 'by=advertiser&ids[x]=2'))).toBe('advertiser_forbidden');
    expect(codeOf(pass({}, 'by=campaign&ids[x]=2'))).toBeNull();
  });

  it('hides nothing in texts in texts, nor costs much by them', () => {
    let text = JSON.stringify({ x: '%2525252525252525252541', by: 'campaign' });
    for (let depth = 0; depth < 9; depth += 1) text = JSON.stringify({ a: text });
    expect(codeOf(pass({ a: text }))).toBe('advertiser_forbidden');
    expect(codeOf(pass({ a: JSON.stringify({ by: 'campaign', ids: [7] }) }))).toBeNull();
  });

  it('may do what is honest', () => {
    const value = fc.oneof(fc.integer(), fc.boolean(), fc.constantFrom('x', 'Acme 2', null));
    const honest = fc.oneof(
      fc.tuple(fc.constantFrom('campaignId', 'creative_id', 'limit', 'budget', 'name', 'paid', 'bid'), value),
      fc.tuple(
        fc.constantFrom('campaign', 'creatives'),
        value.map((id) => ({ id, ids: [id] })),
      ),
      fc.constantFrom<[string, unknown]>(
        ['advertisers', [{ id: 1, name: 'Acme' }]],
        ['advertisers', { id: 1, include: [1, '1'], active: true }],
        ['group', { by: 'advertiser', ids: [1], limit: 10 }],
        ['group', { by: 'advertiser', campaignIds: [7], page: 2 }],
        ['split', { by: 'campaign', values: [7] }],
        ['sort', 'advertiserId'],
        ['columns', ['advertiserId', 'userId']],
      ),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(honest, { selector: ([name]) => name, maxLength: 4 }),
        fc.constantFrom(...PLACES),
        (members, at) => {
          const extra = at(Object.fromEntries(members));
          for (const ask of everywhere(extra)) expect(codeOf(ask), JSON.stringify(extra)).toBeNull();
        },
      ),
    );
  });

  it('may name campaigns by ids where the path says that they are campaigns’', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), (id) => {
        expect(codeOf(pass({ ids: [id], id }, `ids[]=${id}`))).toBeNull();
        const advertisers = { ...RULE, path: '/api/v1/advertisers/get' };
        const expected = id === 1 ? null : 'advertiser_forbidden';
        expect(codeOf(pass({ ids: [id] }, '', advertisers))).toBe(expected);
      }),
    );
  });
});

describe('a team that is limited to advertiser 1, by its words', () => {
  const ask = (extra: string) => report(get(`advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-15&${extra}`));
  const detailOf = (act: () => unknown) => thrownBy(act).options.detail;

  it.each([
    'advertiser=2',
    'advertisers[]=2',
    'client=2',
    'sub_account_id=2',
    'subAccountIds[]=2',
    'agencyCode=2',
    'filter=advertiserId:2',
    'where=advertiser_id%20eq%202',
    'q=%7B%22user.id%22:2%7D',
    'x=advertiserId%253D2',
    'filter=advertiser:2',
    'filter=%7B%22client%22:2%7D',
    'filter=%7B%22%5Cu0061dvertiserId%22:2%7D',
    'filter=%25252561dvertiserId:2',
    'filterField=advertiser',
    'byAdvertiser=2',
    'acct=2',
    'advId=2',
    'uid=2',
    'company=2',
    'filter=advertiser,eq,2',
    'filter=eq(advertiser,2)',
    'where=client%20between%201%20and%203',
    'filter=advertiser/2',
    'filter=2%20in%20users',
    'q=advertiser(id:2)',
    'query=%7Badvertisers%7Bid(2)%7D%7D',
    'q=advertiser;in;2',
    'x=advertiser.in(2)',
  ])('may not ask for a report by %s, while another may', (extra) => {
    expect(codeOf(ask(extra))).toBe('advertiser_forbidden');
    expect(detailOf(ask(extra))).toContain(extra.split(/[=[]/)[0] as string);
  });

  it.each([
    'aid=2',
    'aids[]=1',
    'ids=2',
    'ids[]=2',
    'ids=1,2',
    'id=2',
    'id=acme',
    'entity_ids[]=2',
    'includeIds=2',
    'id_in=2',
    'by=advertiser&values=2',
    'dimension=sub_account&in=1,2',
    'dimensions=campaign,advertiserId&value[]=2',
  ])('may ask for no other by %s', (extra) => {
    expect(codeOf(ask(extra))).toBe('advertiser_forbidden');
    expect(detailOf(ask(extra))).toMatch(/ids?|aids?|values?|in\b/);
  });

  it.each([
    'spentBased=advertiser',
    'userId=1',
    'accountId=1',
    'byAdvertiser=1',
    'search=brand',
    'campaignIds[]=7',
    'orderBy=advertiserId',
    'sort=-userId,spent',
    'columns=advertiserId,impressions',
    'advanced=1',
    'filter=advertiser,eq,1',
    'filter=clientType,eq,2',
    'filter=user_agent,eq,2',
    'filter=campaign,eq,7',
    'q=client%20report%20(2)',
    'ids=1',
    'ids[]=1',
    'campaign_id=7',
    'creativeId=8',
    'dimension=advertiser&limit=10',
    'dimension=advertiser&orderBy=advertiserId&page=2&per_page=500',
    'advanced=5',
    'paid=1&bid=2&valid=3',
  ])('may ask by %s as before', (extra) => {
    expect(codeOf(ask(extra))).toBeNull();
  });

  it('may not hide an account in a known parameter that takes any text', () => {
    expect(codeOf(ask('spentBased=advertiserId:2'))).toBe('advertiser_forbidden');
  });

  /** Member of the body that gives it away → the body. */
  it.each<readonly [string, object]>([
    ['client', { client: 2 }],
    ['filter', { filter: 'advertiserId=2' }],
    ['filter', { filter: { client: 2 } }],
    ['filters', { filters: [{ field: 'advertiser_id', value: 2 }] }],
    ['filters', { filters: [{ field: 'advertiser', value: 2 }] }],
    ['dimensionFilter', { dimensionFilter: 'advertiserId=2' }],
    ['advertisers', { advertisers: [{ id: 1 }, 2] }],
    ['advertisers', { advertisers: [{ id: 1 }, { name: 'Other' }] }],
    ['advertisers', { advertisers: { id: 1, include: [2] } }],
    ['advertisers', { advertisers: { id: 1, include: '1,2' } }],
    ['advertisers', { advertisers: [{ id: 1 }, { id: 1, also: { no: 2 } }] }],
    ['subAccount', { subAccount: { id: 1, of: { number: '2' } } }],
    ['account', { account: { id: 1, Linked_IDs: [2] } }],
    ['x', { x: { clients: { id: 1, more: [2] } } }],
    ['group', { group: { by: 'advertiser', ids: [2] } }],
    ['group', { group: { by: 'advertiser', which: [2] } }],
    ['group', { group: { dimensions: ['campaign', 'advertiser_id'], values: ['2'] } }],
    ['a', { a: [{ b: { groupBy: 'Sub-Accounts', in: '1,2' } }] }],
  ])('may name no other in a body, nor write for it: %s of %j', (name, extra) => {
    for (const act of everywhere(extra)) {
      expect(codeOf(act)).toBe('advertiser_forbidden');
      expect(detailOf(act)).toContain(name);
    }
  });

  it.each<object>([{ ask: { on: 'client', value: 2 } }, { filter: '{"by":"advertiser","ids":[2]}' }])(
    'may name no other in a question: %j',
    (extra) => {
      for (const act of everywhere(extra).slice(0, 2)) expect(codeOf(act)).toBe('advertiser_forbidden');
    },
  );

  it.each<object>([
    { advertisers: { id: 1, include: [1], name: 'Acme', active: true } },
    { advertisers: [{ id: 1 }, { id: '1' }] },
    { group: { by: 'advertiser', ids: [1], limit: 10, campaignIds: [7] } },
    { group: { by: 'campaign', campaignIds: [7] }, campaigns: { ids: [8] }, campaign: { id: 9 } },
    { sort: 'advertiserId', name: 'client', budget: { daily: 10, total: 100 }, creativeSetIds: [5] },
  ])('may send the body %j, to a report and to what is passed through', (extra) => {
    for (const act of everywhere(extra)) expect(codeOf(act)).toBeNull();
  });

  it('may have an address clicked that speaks of users', () => {
    const clickUrl = 'https://shop.example/?user_id=%7BuserId%7D';
    expect(codeOf(pass({ clickUrl }, '', { ...RULE, read: false }))).toBeNull();
  });

  it.each([
    'group[by]=advertiser&group[ids][]=2',
    'group[by][]=advertiser&group[which][0]=2',
    'by=advertiser&ids[]=2',
    'advertisers[id]=1&advertisers[include]=2',
    'advertiserIds[2]=1',
    'aid=2',
  ])('may pass through no query that names another by %s', (query) => {
    expect(codeOf(pass({}, query))).toBe('advertiser_forbidden');
  });
});

it('a query that is remembered is judged for each team, whichever asked before', () => {
  const { report: asked, lookalikes } = get('advertiserId=1&ids=2');
  const { accounts, namesAccount } = asked;
  const access = { accounts, namesAccount, accountFields: RULES.accountFields, lookalikes };
  const [both, one] = [callerOf({ advertisers: [1, 2] }), callerOf({ advertisers: [1] })];
  const codes = [both, one, one, both, one].map((caller) => codeOf(() => checkAdvertiser(caller, access)));
  const forbidden = 'advertiser_forbidden';
  expect(codes).toEqual([null, forbidden, forbidden, null, forbidden]);
});

describe('a look for accounts of others asks about each number a few times, however deep it stands', () => {
  const [ITEMS, DEPTH] = [500, 58];

  /** How often it was asked whose a number is, and what looks like an account. */
  function lookInto(value: Json) {
    let asked = 0;
    const isOwn = (account: string) => {
      asked += 1;
      return account === '1';
    };
    const found = accountLookalikes([{ name: 'x', value, asks: true }], RULES, { isOwn, bareIds: true });
    return { asked, found };
  }

  function nested(wrap: (inner: string) => string, innermost = '1'): string {
    let text = `[${Array(ITEMS).fill(innermost).join()}]`;
    for (let depth = 0; depth < DEPTH; depth += 1) text = wrap(text);
    return text;
  }

  it.each<[string, (inner: string) => string]>([
    ['below what is chosen by', (inner) => `{"by":"advertiser","k":${inner}}`],
    ['in lists with a field', (inner) => `["user",${inner}]`],
    ['below ids', (inner) => `{"ids":${inner}}`],
  ])('%s', (_where, wrap) => {
    const { asked, found } = lookInto(parseJson(nested(wrap)));
    expect(found).toEqual([]);
    expect(asked).toBeLessThan(ITEMS * 5);
    expect(lookInto(parseJson(nested(wrap, '2'))).found).toEqual(['x']);
  });

  it('in a text that is encoded many times over', () => {
    const text = nested((inner) => `{"by":"advertiser","k":${inner},"z":"%252525252541"}`);
    expect(lookInto(text).asked).toBeLessThan(ITEMS * 5 * 8);
  });

  it('what is longer than any question, once decoded, is refused', () => {
    expect(lookInto(`%25252525${'a'.repeat(600_000)}`).found).toEqual(['x']);
    expect(lookInto('a'.repeat(600_000)).found).toEqual([]);
  });

  it('accounts in accounts are no question, beyond a few', () => {
    const within = (times: number) => {
      let text = '{"id":1}';
      for (let depth = 0; depth < times; depth += 1) text = `{"advertiser":{"id":1,"k":${text}}}`;
      return lookInto(parseJson(text)).found;
    };
    expect([within(3), within(20)]).toEqual([[], ['x']]);
  });
});
