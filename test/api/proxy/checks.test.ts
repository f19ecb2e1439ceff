import { describe, expect, it } from 'vitest';
import {
  checkAccount,
  checkBody,
  checkPassedQuery,
  findRule,
  mustReadBody,
  type PassRules,
  scopeOf,
} from '../../../src/api/proxy/checks.js';
import type { RouteRule } from '../../../src/config/schema.js';
import { type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import type { NewTeam } from '../../../src/teams/auth/team.js';
import { callerOf } from '../../support/callers.js';
import { codeOf, thrownBy } from '../../support/problems.js';

const rule = (changes: Partial<RouteRule>): RouteRule => ({
  method: 'POST',
  path: '/api/v1/campaign/create',
  read: false,
  account: ['body.userId', 'body.advertiserId'],
  pathChars: '',
  ...changes,
});
const CREATE = rule({});
const LIST = rule({ path: '/api/v1/campaign/get', read: true });
const SHOW = rule({ method: 'GET', path: '/api/v1/campaign/*', account: ['query.advertiserId'] });
const OPEN = rule({ path: '/api/v1/open', account: [] });
const RULES: PassRules = {
  routes: [CREATE, LIST, SHOW, OPEN],
  accountPattern: /^(user|account|advertiser|client|customer|agency|owner|parent)ids?$/,
};

describe('findRule', () => {
  it.each<[string, string, RouteRule | undefined]>([
    ['POST', '/api/v1/campaign/create', CREATE],
    ['GET', '/api/v1/campaign/create', SHOW],
    ['GET', '/api/v1/campaign/7', SHOW],
    ['HEAD', '/api/v1/campaign/7', SHOW],
    ['GET', '/api/v1/campaign/7/more', undefined],
    ['GET', '/api/v1/campaign', undefined],
    ['POST', '/api/v1/Campaign/create', undefined],
    ['PUT', '/api/v1/campaign/create', undefined],
    ['DELETE', '/api/v1/campaign/7', undefined],
    ['HEAD', '/api/v1/open', undefined],
  ])('%s %s', (method, path, expected) => {
    expect(findRule(method, path, RULES)).toBe(expected);
  });
});

describe('scopeOf', () => {
  it.each<[string, RouteRule | undefined, string]>([
    ['GET', undefined, 'platform:read'],
    ['HEAD', undefined, 'platform:read'],
    ['POST', undefined, 'platform:write'],
    ['POST', CREATE, 'platform:write'],
    ['POST', LIST, 'platform:read'],
    ['PUT', undefined, 'platform:write'],
    ['PATCH', undefined, 'platform:write'],
    ['DELETE', undefined, 'platform:write'],
  ])('%s', (method, found, scope) => {
    expect(scopeOf(method, found)).toBe(scope);
  });
});

describe('mustReadBody', () => {
  it.each<[NewTeam['advertisers'], RouteRule | undefined, boolean]>([
    ['*', undefined, false],
    ['*', CREATE, false],
    ['*', LIST, true],
    [[1], undefined, true],
    [[], CREATE, true],
  ])('a team of %j', (advertisers, found, expected) => {
    expect(mustReadBody(callerOf(advertisers === undefined ? {} : { advertisers }), found)).toBe(expected);
  });
});

describe('checkPassedQuery', () => {
  it('gives the query in the spelling that was checked', () => {
    expect(checkPassedQuery('b=1&%61[]=x%20y&a[k][]=+&c').text).toBe(
      'b=1&a%5B%5D=x%20y&a%5Bk%5D%5B%5D=%20&c=',
    );
    expect(checkPassedQuery('').text).toBe('');
  });

  it.each([
    '_method=DELETE',
    '_totals=1',
    '%5Fmethod=PUT',
    '.method=PUT',
    '%20_method=PUT',
    '+_method=PUT',
    '[method=PUT',
    '_method%00x=PUT',
    'a.b=1',
    'a-b=1',
    'a%20b=1',
    'a[=1',
    'a]=1',
    'a[b=1',
    'a[b.c]=1',
    '=1',
    '1a=1',
    'a=%zz',
    '__proto__=1',
  ])('refuses %s', (query) => {
    expect(codeOf(() => checkPassedQuery(query))).toBe('invalid_query');
  });
});

describe('checkBody', () => {
  const check = (text: string) => codeOf(() => checkBody(parseJson(text) as JsonObject));

  it.each(['{}', '{"a":{"_method":"x","_dryRun":1}}', '{"method":"PUT","é":1,"a b":1}'])(
    'lets %s pass',
    (text) => {
      expect(check(text)).toBeNull();
    },
  );

  it.each([
    '{"_method":"DELETE"}',
    '{"_dryRun":1}',
    '{"_dryRu\\u006e":true}',
    '{"\\u005fmethod":"DELETE"}',
    '{"a\\u0000":1}',
    '{"a":[{"b\\u0007":1}]}',
    '{"user\\u0085Id":1}',
  ])('refuses %s', (text) => {
    expect(check(text)).toBe('invalid_body');
  });
});

describe('checkAccount', () => {
  const check = (
    found: RouteRule | undefined,
    query: string,
    body: string | null,
    advertisers: number[] | '*' = [1, 2],
  ) =>
    codeOf(() =>
      checkAccount(
        { caller: callerOf({ advertisers }), rule: found, path: '' },
        {
          pairs: checkPassedQuery(query).pairs,
          parsed: body === null ? null : (parseJson(body) as JsonObject),
        },
        RULES,
      ),
    );

  it('lets a team of all advertisers use everything', () => {
    expect(check(undefined, 'advertiserId=99', '{"userId":99}', '*')).toBeNull();
  });

  const FORBIDDEN = 'advertiser_forbidden';
  it.each<[string, RouteRule | undefined, string, string | null, string | null]>([
    ['its own account in the body', CREATE, '', '{"userId":1}', null],
    ['its own account as text', CREATE, '', '{"advertiserId":"2","name":"x"}', null],
    ['its own account in the query', SHOW, 'advertiserId=2', null, null],
    ['its own account twice', CREATE, 'agencyId=1', '{"userId":1,"advertiser":{"id":2}}', null],
    ['no declared route', undefined, '', '{"userId":1}', 'route_forbidden'],
    ['a route without an account', OPEN, '', '{"userId":1}', 'route_forbidden'],
    ['no account', CREATE, '', '{"name":"x"}', 'advertiser_required'],
    ['no body', CREATE, '', null, 'advertiser_required'],
    ['the account in another place', CREATE, 'userId=1', '{}', 'advertiser_required'],
    ['the account deeper down', CREATE, '', '{"campaign":{"userId":1}}', 'advertiser_required'],
    ['a foreign account', CREATE, '', '{"userId":3}', FORBIDDEN],
    ['its own and a foreign one', CREATE, '', '{"userId":1,"advertiserId":3}', FORBIDDEN],
    ['a foreign one deeper down', CREATE, '', '{"userId":1,"items":[{"account":{"id":3}}]}', FORBIDDEN],
    ['a foreign one in another spelling', CREATE, '', '{"userId":1,"user_id":3}', FORBIDDEN],
    ['a list', CREATE, '', '{"userId":[1,2]}', FORBIDDEN],
    ['an object', CREATE, '', '{"userId":{"0":1}}', FORBIDDEN],
    ['null', CREATE, '', '{"userId":null}', FORBIDDEN],
    ['true', CREATE, '', '{"userId":true}', FORBIDDEN],
    ['a fraction', CREATE, '', '{"userId":1.0}', FORBIDDEN],
    ['a blank', CREATE, '', '{"userId":" 1"}', FORBIDDEN],
    ['a foreign one in the query beside it', CREATE, 'userId=3', '{"userId":1}', FORBIDDEN],
    ['a foreign one in the query, as a list', CREATE, 'userId[]=3', '{"userId":1}', FORBIDDEN],
    ['a foreign one in the query, nested', CREATE, 'filter[userId]=3', '{"userId":1}', FORBIDDEN],
    ['a foreign one in the query, in parts', CREATE, 'advertisers[0][id]=3', '{"userId":1}', FORBIDDEN],
    ['a foreign one in the query, far down', CREATE, 'a[b][user][][id]=3', '{"userId":1}', FORBIDDEN],
    ['two in the query', SHOW, 'advertiserId=1&advertiserId=3', null, FORBIDDEN],
    ['nothing in the query', SHOW, 'advertiserId=', null, FORBIDDEN],
  ])('%s', (_what, found, query, body, code) => {
    expect(check(found, query, body)).toBe(code);
  });

  it('says where the account was wrong, or where it should be', () => {
    const detail = (body: string) =>
      thrownBy(() =>
        checkAccount(
          { caller: callerOf({ advertisers: [1] }), rule: CREATE, path: '' },
          { pairs: [], parsed: parseJson(body) as JsonObject },
          RULES,
        ),
      ).options.detail;
    expect(detail('{"userId":3}')).toContain('body');
    expect(detail('{}')).toContain('body.userId or body.advertiserId');
  });
});
