/** What the forms and the calendar of the console come to, without a browser. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { questionOf } from '../../src/web/console/cache/explained.js';
import { changesOf, draftOf, newTeamOf } from '../../src/web/console/teams/draft.js';
import { guardDraftOf, guardOf, isKnown, newRule, routesTwice } from '../../src/web/console/teams/guard.js';
import { concernOf, type Team, type TeamKey } from '../../src/web/console/teams/team.js';
import { faultAt } from '../../src/web/ui/form-values.js';
import { stepOf, weekday } from '../../src/web/ui/kept-days.js';

/** With a scope of another release. */
const TEAM = {
  id: 'a',
  name: 'A',
  scopes: ['report:read', 'of:another-release'],
  advertisers: [1, 2],
  limits: { requestsPerMinute: 1, upstreamCallsPerDay: 2, maxRangeDays: 3, maxConcurrent: 4 },
  ipAllow: ['10.0.0.0/8'],
  defaultFormat: 'json',
  disabled: false,
} as unknown as Team;

it('a form that was not touched changes nothing; one limit is sent alone', () => {
  const draft = draftOf(TEAM);
  expect(changesOf(draft, draft)).toEqual({});
  expect(changesOf(draft, { ...draft, 'limits.maxConcurrent': '', all: true })).toEqual({
    advertisers: '*',
    limits: { maxConcurrent: 32 },
  });
});

it('a new team is named by its id where nothing else is said, and sees no advertiser', () => {
  expect(newTeamOf({ ...draftOf(null), id: ' b ' })).toMatchObject({ id: 'b', name: 'b', advertisers: [] });
});

it('a fault of an item names the item', () => {
  const faults = [
    { param: 'ipAllow.1', message: 'must be an address' },
    { param: 'ipAllowed', message: 'is another member' },
  ];
  expect(faultAt(faults, 'ipAllow', ['10.0.0.1', 'x'])).toBe('x: must be an address');
  expect(faultAt(faults, 'name')).toBeUndefined();
});

it('a report is named by its address, its path, or endpoint and query', () => {
  expect(questionOf('https://x.example/api/v1/report/campaigns/get?a=1')).toMatch(/^url=https/);
  expect(questionOf('/api/v1/report/campaigns/get?a=1')).toMatch(/^url=%2Fapi/);
  expect(questionOf('campaigns/get?a=1&b=2')).toBe('endpoint=campaigns%2Fget&query=a%3D1%26b%3D2');
});

it('arrows go by day and by week, and never out of the days', () => {
  expect([stepOf('ArrowUp', 9, 400), stepOf('ArrowUp', 3, 400), stepOf('End', 0, 400)]).toEqual([2, 0, 399]);
  expect(stepOf('Enter', 3, 400)).toBeNull();
  expect([weekday('2026-11-23'), weekday('2026-11-22')]).toEqual([1, 7]);
});

it.each([
  ['is used', { lastUsedAt: '2026-11-20' }, null],
  ['expires within two weeks', { lastUsedAt: '2026-11-20', expiresAt: '2026-12-01' }, 'expires'],
  ['expires later', { expiresAt: '2027-01-01', createdAt: '2026-11-01' }, null],
  ['was used long ago', { lastUsedAt: '2026-10-01' }, 'sleeps'],
  ['was never used', {}, 'sleeps'],
  ['is revoked', { revokedAt: '2026-11-01' }, null],
  ['has expired', { expiresAt: '2026-11-01' }, null],
])('a key that %s', (_, parts, concern) => {
  const key = { createdAt: '2026-01-01', lastUsedAt: null, expiresAt: null, revokedAt: null, ...parts };
  expect(concernOf(key as TeamKey, Date.parse('2026-11-21'))).toBe(concern);
});

const field = fc.stringMatching(/^body(\.[a-z]{1,9}){1,3}$/);
const limit = fc.integer({ min: 0, max: 9_007_199_254_000 }).map((millionths) => millionths / 1e6);
const guards = fc.dictionary(
  fc.stringMatching(/^(POST|PUT|PATCH|DELETE) \/api\/v1\/[a-z]{1,5}\/([a-z]{1,5}|\*)$/),
  fc.record(
    {
      budget: fc.record(
        { field, currencyField: field, currency: fc.constant('EUR'), maxPerCall: limit, maxPerDay: limit },
        { requiredKeys: ['field'] },
      ),
      amounts: fc.array(fc.record({ field, max: limit }), { minLength: 1, maxLength: 3 }),
      allowFields: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 3 }),
      requireIdempotencyKey: fc.constant(true),
    },
    { requiredKeys: [] },
  ),
  { noNullPrototype: true },
);

it('a guard comes out of the form as it went in', () => {
  fc.assert(
    fc.property(guards, (guard) => {
      const draft = guardDraftOf(guard);
      expect(draft).not.toBe('another');
      expect(guardOf(draft as Exclude<typeof draft, 'another'>)).toEqual(guard);
    }),
  );
  expect([guardOf('none'), guardDraftOf(undefined)]).toEqual([null, 'none']);
});

it('a guard with whatever this page does not know is left alone', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      if (value === undefined || isKnown(value)) return;
      expect(guardDraftOf(value)).toBe('another');
    }),
  );
  for (const rule of [
    { budget: { field: 'body.a', perWeek: 1 } },
    { amounts: [{ field: 'body.a' }, 1] },
    null,
  ])
    expect(isKnown({ 'POST /api/v1/a': rule })).toBe(false);
  const team = { ...TEAM, writeGuard: { 'POST /api/v1/a': { perWeek: 1 } } } as Team;
  const draft = draftOf(team);
  expect(changesOf(draft, { ...draft, name: 'B' })).toEqual({ name: 'B' });
});

it('a limit that is no number goes to the gateway as it was typed, and one rule a route', () => {
  const typed = { 'budget.maxPerCall': '1,000', 'budget.maxPerDay': ' 1e3 ' };
  const rule = { ...newRule(), path: ' /api/v1/a ', typed };
  expect(guardOf([rule])).toEqual({
    'POST /api/v1/a': { budget: { field: '', maxPerCall: '1,000', maxPerDay: 1000 } },
  });
  expect(guardOf([newRule()])).toEqual({ 'POST /api/v1/': {} });
  expect(routesTwice([rule])).toEqual([]);
  expect(routesTwice([rule, { ...rule, path: '/api/v1/a' }])).toMatchObject([
    { param: 'writeGuard.POST /api/v1/a' },
  ]);
});
