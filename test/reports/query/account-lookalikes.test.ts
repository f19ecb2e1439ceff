/** What a team that is limited to advertiser 1 may ask and write: no foreign spelling passes, every honest one does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkAccount, checkQuery } from '../../../src/api/proxy/checks.js';
import type { RouteRule } from '../../../src/config/schema.js';
import type { GatewayError } from '../../../src/errors.js';
import { accountLookalikes } from '../../../src/reports/query/account-lookalikes.js';
import { type Json, type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import { checkAdvertiser } from '../../../src/teams/policy/check-advertiser.js';
import { callerOf } from '../../support/callers.js';
import { codeOf, thrownBy } from '../../support/problems.js';
import { get, post, RULES } from './canonical-request.js';

const CALLER = callerOf({ advertisers: [1] });
const RULE: RouteRule = {
  ...{ method: 'POST', path: '/api/v1/campaign/get', read: true, account: ['body.userId'], pathChars: '' },
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
        pairs: checkQuery(query).pairs,
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
