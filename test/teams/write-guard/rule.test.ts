/** What a write guard may be, and the amounts that it counts in. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isCountable,
  limitOf,
  MOST_UNITS,
  showAmount,
  toMillionths,
} from '../../../src/teams/write-guard/amount.js';
import { type GuardRule, guardFaults, isWriteGuard, ruleFor } from '../../../src/teams/write-guard/rule.js';
import { RULE as GOOD } from '../../support/campaign.js';

const CREATE = 'POST /api/v1/campaign/create';
const TOTAL = { field: 'body.total', maxPerCall: 6 };
const BID = [{ field: 'body.bid', max: 5 }];
const faultsOf = (rule: GuardRule, route = CREATE) =>
  guardFaults({ [route]: rule }).map(({ param }) => param);

describe('a write guard', () => {
  it('of the documented form is taken', () => {
    expect(isWriteGuard({ [CREATE]: GOOD })).toBe(true);
    expect(
      guardFaults({ [CREATE]: GOOD, 'PUT /api/v1/campaign/*': { amounts: [{ field: 'body.bid', max: 5 }] } }),
    ).toEqual([]);
    expect(guardFaults({})).toEqual([]);
    expect(guardFaults(null)).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['an unknown member', { ...GOOD, maxPerHour: 1 }],
    ['an unknown member of the budget', { budget: { field: 'body.x', maxPerCall: 1, perCall: 1 } }],
    ['a field outside of the body', { amounts: [{ field: 'query.bid', max: 1 }] }],
    ['a field in a list', { amounts: [{ field: 'body.bids[0]', max: 1 }] }],
    ['a limit that cannot be counted', { amounts: [{ field: 'body.bid', max: 1e10 }] }],
    ['no amounts in the list of them', { amounts: [] }],
  ])('with %s is none', (_, rule) => {
    expect(isWriteGuard({ [CREATE]: rule })).toBe(false);
  });

  it.each<[string, GuardRule, string]>([
    ['neither budget nor amounts', { allowFields: ['name'] }, ''],
    ['a budget without a limit', { budget: { field: 'body.total' } }, 'budget'],
    ['a call that may cost more than the day', { budget: { ...TOTAL, maxPerDay: 5 } }, 'budget.maxPerCall'],
    ['a place of a currency, and none', { budget: { ...TOTAL, currencyField: 'body.c' } }, 'budget.currency'],
    ['a limit of seven decimals', { budget: { ...TOTAL, maxPerCall: 0.1234567 } }, 'budget.maxPerCall'],
    ['a field twice', { ...GOOD, amounts: [{ field: 'body.budget.total', max: 1 }] }, 'amounts.0.field'],
    [
      'a field inside of another',
      { ...GOOD, amounts: [{ field: 'body.budget', max: 1 }] },
      'amounts.0.field',
    ],
    [
      'fields that may be read as each other',
      { ...GOOD, allowFields: undefined, amounts: [{ field: 'body.budgetTotal', max: 1 }] } as never,
      'amounts.0.field',
    ],
    ['a field that is not allowed', { amounts: BID, allowFields: ['name'] }, 'amounts.0.field'],
    ['an allowed field that is refused', { amounts: BID, allowFields: ['bid', 'BID'] }, 'allowFields.1'],
    ['a name that no body may have', { amounts: [{ field: 'body.constructor', max: 5 }] }, 'amounts.0.field'],
  ])('with %s is refused, and the member named', (_, rule, member) => {
    expect(faultsOf(rule)).toEqual([`writeGuard.${CREATE}${member === '' ? '' : `.${member}`}`]);
  });

  it.each([
    'GET /api/v1/campaign/get',
    'POST /api/v1',
    'POST /api/v1/*/x',
    'post /api/v1/x',
    'POST /api/v1/x/',
    '__proto__',
  ])('for the route %s is refused: it never matches a write', (route) => {
    expect(guardFaults(Object.fromEntries([[route, GOOD]]))).toMatchObject([
      { message: expect.stringContaining('must be a method and a path') },
    ]);
  });

  it('that asks for an idempotency key is for a POST', () => {
    expect(faultsOf(GOOD, 'PATCH /api/v1/campaign/*')).toEqual([
      'writeGuard.PATCH /api/v1/campaign/*.requireIdempotencyKey',
    ]);
  });
});

describe('the rule for a call', () => {
  const other: GuardRule = { amounts: [{ field: 'body.bid', max: 1 }] };
  const guard = { [CREATE]: GOOD, 'POST /api/v1/campaign/*': other };

  it('is that of its very route, then that of any segment, else none', () => {
    expect(ruleFor(guard, 'POST', '/api/v1/campaign/create')).toEqual({ route: CREATE, rule: GOOD });
    expect(ruleFor(guard, 'POST', '/api/v1/campaign/7')).toMatchObject({ route: 'POST /api/v1/campaign/*' });
    for (const path of ['campaign', 'campaign/7/pause', 'Campaign/create', 'x/create'])
      expect(ruleFor(guard, 'POST', `/api/v1/${path}`)).toBeNull();
    expect(ruleFor(guard, 'PUT', '/api/v1/campaign/create')).toBeNull();
    expect(ruleFor({}, 'POST', '/api/v1/campaign/create')).toBeNull();
  });
});

describe('an amount', () => {
  it.each([
    ['0', 0],
    ['0e999999999999', 0],
    ['5e3', 5_000_000_000],
    ['50000e-1', 5_000_000_000],
    ['1200.50', 1_200_500_000],
    ['0.000001', 1],
    // Rounded up, so that no number of calls is ever free.
    ['0.0000001', 1],
    ['1.0000001', 1_000_001],
    ['1e-999999999999', 1],
    ['9007199254.740991', Number.MAX_SAFE_INTEGER],
  ])('%s is %d millionths', (text, millionths) => {
    expect(toMillionths(text)).toBe(millionths);
  });

  it.each(['-1', '-0', '-0.0', '-1e-9', '9007199254.740992', '1e999', '1e999999999999999', '1'.repeat(17)])(
    '%s is none that can be counted',
    (text) => {
      expect(toMillionths(text)).toBeNull();
    },
  );

  it('is never less than what a reader of doubles makes of it, and never a millionth more', () => {
    const digits = fc.stringMatching(/^(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-3])?$/);
    fc.assert(
      fc.property(digits, (text) => {
        const millionths = toMillionths(text);
        if (millionths === null) return;
        expect(millionths / 1e6).toBeGreaterThanOrEqual(Number(text) * (1 - Number.EPSILON));
        expect(millionths).toBeLessThan(Number(text) * 1e6 * (1 + 4 * Number.EPSILON) + 1);
      }),
    );
  });

  it('takes no longer for digits without end', () => {
    expect(toMillionths(`1.${'0'.repeat(500_000)}1`)).toBe(1_000_001);
    expect(toMillionths(`${'9'.repeat(500_000)}`)).toBeNull();
    expect(toMillionths(`1e-${'9'.repeat(500_000)}`)).toBe(1);
  });
});

describe('a limit', () => {
  it('is countable with up to six decimals', () => {
    for (const limit of [0, 5, 0.1, 1000.25, 0.000001, MOST_UNITS]) expect(isCountable(limit)).toBe(true);
    for (const limit of [1e-7, 0.1234567, 1e21, -1]) expect(isCountable(limit)).toBe(false);
  });

  it('is the number that an operator wrote, whatever a double makes of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (millionths) => {
        const limit = Number(showAmount(millionths));
        expect(isCountable(limit)).toBe(true);
        expect(limitOf(limit)).toBe(millionths);
      }),
    );
  });

  it('is shown in units of its currency', () => {
    expect(showAmount(1_200_500_000, 'EUR')).toBe('1200.5 EUR');
    expect(showAmount(1)).toBe('0.000001');
  });
});
