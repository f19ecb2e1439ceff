import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refuseForeignAccounts } from '../../../src/teams/policy/check-advertiser.js';
import { callerOf } from '../../support/callers.js';

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
    [[1, 2], ['1'], true],
    [[1, 2], ['1', '2'], true],
    [[1, 2], ['1', '3'], false],
    [[1, 2], ['01'], false],
    [[], ['1'], false],
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
