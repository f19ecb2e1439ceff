/** What a team may ask, from where, and what it may be shown. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toProblem } from '../../../src/lib/http/problem.js';
import type { NewTeam } from '../../../src/teams/auth/team.js';
import {
  type AccessRequest,
  checkAddress,
  checkCaller,
  checkQuery,
  isAddressRange,
  refuseForeignAccounts,
} from '../../../src/teams/policy/authorize.js';
import { callerOf } from '../../support/callers.js';
import { codeOf, thrownBy } from '../../support/problems.js';

const NOTHING: AccessRequest = {
  namesAccount: false,
  accounts: [],
  lookalikes: () => [],
  accountFields: ['advertiserId', 'userId'],
  rangeDays: null,
};
const named = (...values: string[]): Partial<AccessRequest> => ({
  namesAccount: true,
  accounts: [{ param: 'advertiserId', values }],
});

/** Of its own, and of what another parameter names. */
const also = (value: string): Partial<AccessRequest> => ({
  namesAccount: true,
  accounts: [...(named('1').accounts ?? []), { param: 'agencyId', values: [value] }],
});

describe('admit', () => {
  const admitted = (team: Partial<NewTeam>, scope: 'report:read' | 'platform:write' = 'report:read') =>
    codeOf(() => checkCaller(callerOf(team), '10.0.0.1', scope));

  it('lets a team in that may', () => {
    expect(admitted({})).toBeNull();
    expect(
      admitted({ ipAllow: ['10.0.0.0/8'], scopes: ['report:read', 'platform:write'] }, 'platform:write'),
    ).toBeNull();
  });

  it.each<[string, Partial<NewTeam>, string]>([
    ['disabled', { disabled: true }, 'team_disabled'],
    ['elsewhere', { ipAllow: ['192.0.2.1'] }, 'ip_forbidden'],
    ['without the scope', { scopes: ['platform:read', 'platform:write', 'cache:refresh'] }, 'scope_missing'],
  ])('refuses a team that is %s', (_what, team, code) => {
    expect(admitted(team)).toBe(code);
  });

  it('asks in order: is the team on, is the caller where it may be, does it hold the scope', () => {
    expect(admitted({ disabled: true, ipAllow: ['192.0.2.1'], scopes: [] })).toBe('team_disabled');
    expect(admitted({ ipAllow: ['192.0.2.1'], scopes: [] })).toBe('ip_forbidden');
    const { options } = thrownBy(() => checkCaller(callerOf({ scopes: [] }), '10.0.0.1', 'platform:write'));
    expect(options.detail).toBe('This call needs the scope platform:write.');
  });
});

describe('authorize: advertisers', () => {
  const authorized = (advertisers: number[] | '*', access: Partial<AccessRequest>) =>
    codeOf(() => checkQuery(callerOf({ advertisers }), { ...NOTHING, ...access }));

  it.each<[string, number[] | '*', Partial<AccessRequest>, string | null]>([
    ['all advertisers, none named', '*', {}, null],
    ['all advertisers, any named', '*', named('99'), null],
    ['one of its own', [1, 2], named('2'), null],
    ['none named', [1, 2], {}, 'advertiser_required'],
    ['a foreign one', [1, 2], named('3'), 'advertiser_forbidden'],
    ['its own and a foreign one', [1, 2], named('1', '3'), 'advertiser_forbidden'],
    ['a foreign one in another parameter', [1], also('7'), 'advertiser_forbidden'],
    ['its own one, in no account field', [1], { ...also('1'), namesAccount: false }, 'advertiser_required'],
    ['what only looks like its own', [1], named('01'), 'advertiser_forbidden'],
    ['nothing at all', [1], named(''), 'advertiser_forbidden'],
    ['a text that is no id', [1], named('1.0'), 'advertiser_forbidden'],
    ['an empty list allows nobody', [], named('1'), 'advertiser_forbidden'],
    ['an id as large as can be', [Number.MAX_SAFE_INTEGER], named('9007199254740991'), null],
    ['the id above it', [Number.MAX_SAFE_INTEGER], named('9007199254740992'), 'advertiser_forbidden'],
  ])('%s', (_what, advertisers, access, code) => {
    expect(authorized(advertisers, access)).toBe(code);
  });

  it('tells which parameter was at fault, and never which advertisers there are', () => {
    const forbidden = thrownBy(() =>
      checkQuery(callerOf({ advertisers: [1, 2] }), { ...NOTHING, ...named('3') }),
    );
    expect(forbidden.options.detail).toBe('The team has no access to advertiser 3 in advertiserId.');
    const required = thrownBy(() => checkQuery(callerOf({ advertisers: [1, 2] }), NOTHING));
    expect(required.options.detail).toBe(
      'The team is limited to certain advertisers, and the request names none by advertiserId or userId.',
    );
  });

  it('judges a request once for a list of advertisers, and anew for another list', () => {
    let judged = 0;
    const access: AccessRequest = {
      ...NOTHING,
      ...named('1'),
      lookalikes: (isOwn) => {
        judged += 1;
        return isOwn('2') ? [] : ['client'];
      },
    };
    const wide = callerOf({ advertisers: [1, 2] });
    checkQuery(wide, access);
    checkQuery(wide, access);
    expect(judged).toBe(1);
    const narrow = callerOf({ advertisers: [1] });
    expect(codeOf(() => checkQuery(narrow, access))).toBe('advertiser_forbidden');
    expect(codeOf(() => checkQuery(narrow, access))).toBe('advertiser_forbidden');
    expect(judged).toBe(3);
  });
});

describe('authorize: undeclared parameters', () => {
  const errors = [{ param: 'sort2', message: 'is not declared', help: 'Omit sort2.' }];

  it('refuses them to a team with a list of advertisers, and does not look for them for a team of all', () => {
    const access = { ...NOTHING, ...named('1'), undeclared: () => errors };
    const error = thrownBy(() => checkQuery(callerOf({ advertisers: [1] }), access));
    expect(error).toMatchObject({ code: 'undeclared_parameter', status: 400, options: { errors } });
    expect(toProblem(error, 'r')).toMatchObject({
      detail: 'sort2 is not declared.',
      help: 'Omit sort2.',
      errors: [{ param: 'sort2', message: 'is not declared' }],
    });
    const undeclared = () => {
      throw new Error('looked for');
    };
    expect(codeOf(() => checkQuery(callerOf({ advertisers: '*' }), { ...access, undeclared }))).toBeNull();
  });

  it('names an advertiser of another team first', () => {
    const access = { ...NOTHING, ...named('2'), undeclared: () => errors };
    expect(codeOf(() => checkQuery(callerOf({ advertisers: [1] }), access))).toBe('advertiser_forbidden');
  });
});

describe('authorize: names of parameters', () => {
  it.each([
    ['that may be an account', { ...NOTHING, ...named('1'), lookalikes: () => ['userId'.repeat(500)] }],
    [
      'that is an account',
      { ...NOTHING, namesAccount: true, accounts: [{ param: `user${'_'.repeat(3000)}id`, values: ['9'] }] },
    ],
  ])('cuts a long one %s in what it says', (_what, access) => {
    const { code, options } = thrownBy(() => checkQuery(callerOf({ advertisers: [1] }), access));
    expect(code).toBe('advertiser_forbidden');
    expect(options.detail?.length).toBeLessThanOrEqual(200);
    expect(options.help?.length).toBeLessThanOrEqual(300);
  });
});

describe('authorize: the period', () => {
  const caller = callerOf({ advertisers: '*', limits: { maxRangeDays: 31 } });

  it('lets a period pass that is as long as it may be, or open', () => {
    expect(codeOf(() => checkQuery(caller, { ...NOTHING, rangeDays: 31 }))).toBeNull();
    expect(codeOf(() => checkQuery(caller, NOTHING))).toBeNull();
  });

  it('refuses a longer one, naming its end', () => {
    const error = thrownBy(() => checkQuery(caller, { ...NOTHING, rangeDays: 32 }));
    expect(error).toMatchObject({
      code: 'invalid_query',
      status: 400,
      options: {
        errors: [{ param: 'dateTo', message: 'the period may cover at most 31 days, this one covers 32' }],
      },
    });
    expect(toProblem(error, 'r')).toMatchObject({
      detail: 'The period has 32 days, and this team may request at most 31 days.',
      help: 'Shorten the period to at most 31 days, e.g. _period=last_31_days, or ask your operator to raise maxRangeDays of the team team.',
    });
  });

  it('refuses one that may begin on any day, and says what to give', () => {
    const error = thrownBy(() => checkQuery(caller, { ...NOTHING, rangeDays: 9000, opensEarly: true }));
    expect(error.options.errors).toEqual([
      {
        param: 'dateTo',
        message:
          'the period may cover at most 31 days, and without dateFrom it may start on any day: add dateFrom',
      },
    ]);
    // Not "Correct dateTo": no dateTo makes up for an absent start.
    expect(toProblem(error, 'r')).toMatchObject({
      detail: 'The period has no start, and this team may request at most 31 days.',
      help: 'Add dateFrom, so that the period has at most 31 days.',
    });
  });

  it('comes after the advertiser: who may not see it is not told more', () => {
    const limited = callerOf({ advertisers: [1], limits: { maxRangeDays: 31 } });
    expect(codeOf(() => checkQuery(limited, { ...NOTHING, ...named('2'), rangeDays: 99 }))).toBe(
      'advertiser_forbidden',
    );
  });
});

const check = (address: string, ipAllow: string[]) =>
  codeOf(() => checkAddress(callerOf({ ipAllow }), address));

describe('checkAddress', () => {
  it('lets everybody in when the team has no list', () => {
    expect(check('203.0.113.7', [])).toBeNull();
    expect(check('not an address', [])).toBeNull();
  });

  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '10.0.0.0/8'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:0a00:0001', '10.0.0.1'],
    ['10.0.0.1', '::ffff:10.0.0.0/104'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.0/120'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:0DB8:0:0::1', '2001:db8::1'],
    ['2001:db8:ffff::9', '2001:db8::/32'],
    ['fe80::1%eth0', 'fe80::/10'],
    ['192.0.2.9', '10.0.0.0/8 192.0.2.0/24'],
  ])('lets %s in by %s', (address, list) => {
    expect(check(address, list.split(' '))).toBeNull();
  });

  it.each([
    ['10.0.0.2', '10.0.0.1'],
    ['::ffff:11.0.0.1', '10.0.0.0/8'],
    ['11.0.0.1', '::ffff:10.0.0.0/104'],
    ['2001:db9::1', '2001:db8::/32'],
    ['::1', '0.0.0.0/0'],
    ['127.0.0.1', '::/0'],
    ['', '0.0.0.0/0'],
    ['10.0.0.1', 'not a range'],
    ['0.0.0.10', '10/8'],
    ['10.0.0.1', '10.0.0.1/33'],
  ])('keeps %s out by %s', (address, list) => {
    expect(check(address, list.split(' '))).toBe('ip_forbidden');
  });

  it('lets exactly those in who share the first bits', () => {
    const bytes = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 });
    const value = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 256 + part, 0);
    fc.assert(
      fc.property(bytes, bytes, fc.integer({ min: 0, max: 32 }), (one, other, bits) => {
        const size = 2 ** (32 - bits);
        const inside = Math.floor(value(one) / size) === Math.floor(value(other) / size);
        expect(check(one.join('.'), [`${other.join('.')}/${bits}`]) === null).toBe(inside);
        expect(check(`::ffff:${one.join('.')}`, [`::ffff:${other.join('.')}/${bits + 96}`]) === null).toBe(
          inside,
        );
      }),
    );
  });
});

describe('isAddressRange', () => {
  it.each(['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::ffff:10.0.0.1', '::/128'])(
    'takes %s',
    (text) => {
      expect(isAddressRange(text)).toBe(true);
    },
  );

  it.each([
    ...['', '10', '127.1', '0x7f000001', '2130706433', '010.0.0.1', '10.0.0.256', '10/8', '10.0/16', '*'],
    ...[
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::/129',
      ':::',
      ' 10.0.0.1',
      '10.0.0.1-9',
    ],
  ])('does not take %j, which may not mean what was meant', (text) => {
    expect(isAddressRange(text)).toBe(false);
  });
});

const maySeeAccounts = (advertisers: number[] | '*', accounts: readonly string[]) => {
  try {
    refuseForeignAccounts(callerOf({ advertisers }), accounts);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'upstream_invalid_response', status: 502 });
    return false;
  }
};

describe('refuseForeignAccounts', () => {
  it.each<[number[] | '*', string[], boolean]>([
    ['*', ['1', '99', 'x'], true],
    [[1, 2], [], true],
    [[1, 2], ['01'], false],
    [[], [], true],
  ])('a team of %j may see %j: %s', (advertisers, accounts, expected) => {
    expect(maySeeAccounts(advertisers, accounts)).toBe(expected);
  });

  it('needs every account to be the team’s own', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 5 });
    fc.assert(
      fc.property(ids, ids, (advertisers, accounts) => {
        const own = accounts.every((account) => advertisers.includes(account));
        expect(maySeeAccounts(advertisers, accounts.map(String))).toBe(own);
      }),
    );
  });
});
