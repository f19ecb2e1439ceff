import { describe, expect, it } from 'vitest';
import type { NewTeam } from '../../../src/teams/auth/team.js';
import { type AccessRequest, checkCaller, checkQuery } from '../../../src/teams/policy/authorize.js';
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
    ['without any scope', { scopes: [] }, 'scope_missing'],
  ])('refuses a team that is %s', (_what, team, code) => {
    expect(admitted(team)).toBe(code);
  });

  it('asks in order: is the team on, is the caller where it may be, does it hold the scope', () => {
    expect(admitted({ disabled: true, ipAllow: ['192.0.2.1'], scopes: [] })).toBe('team_disabled');
    expect(admitted({ ipAllow: ['192.0.2.1'], scopes: [] })).toBe('ip_forbidden');
  });

  it('names the scope that is missing', () => {
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
    [
      'a foreign one in another parameter',
      [1],
      {
        namesAccount: true,
        accounts: [
          { param: 'advertiserId', values: ['1'] },
          { param: 'agencyId', values: ['7'] },
        ],
      },
      'advertiser_forbidden',
    ],
    [
      'its own one, in no account field',
      [1],
      { accounts: [{ param: 'agencyId', values: ['1'] }] },
      'advertiser_required',
    ],
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
    expect(forbidden.options.detail).toBe('The team may not see the advertiser that advertiserId names.');
    const required = thrownBy(() => checkQuery(callerOf({ advertisers: [1, 2] }), NOTHING));
    expect(required.options.detail).toBe(
      'The team is limited to certain advertisers; name one by advertiserId or userId.',
    );
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
  });

  it('refuses one that may begin on any day, and says what to give', () => {
    const error = thrownBy(() => checkQuery(caller, { ...NOTHING, rangeDays: 9000, opensEarly: true }));
    expect(error.options.errors).toEqual([
      {
        param: 'dateTo',
        message:
          'the period may cover at most 31 days, and without dateFrom it may begin on any day: give dateFrom too',
      },
    ]);
  });

  it('comes after the advertiser: who may not see it is not told more', () => {
    const limited = callerOf({ advertisers: [1], limits: { maxRangeDays: 31 } });
    expect(codeOf(() => checkQuery(limited, { ...NOTHING, ...named('2'), rangeDays: 99 }))).toBe(
      'advertiser_forbidden',
    );
  });
});
