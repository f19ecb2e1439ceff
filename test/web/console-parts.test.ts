/** What the forms and the calendar of the console come to, without a browser. */
import { expect, it } from 'vitest';
import { questionOf, stepOf, weekday } from '../../src/web/console/cache/explained.js';
import { bodyOf, changesOf, draftOf } from '../../src/web/console/teams/draft.js';
import { faultAt, type Team } from '../../src/web/console/teams/team.js';

const TEAM: Team = {
  id: 'a',
  name: 'A',
  scopes: ['report:read', 'of:another-release'],
  advertisers: [1, 2],
  limits: { requestsPerMinute: 1, upstreamCallsPerDay: 2, maxRangeDays: 3, maxConcurrent: 4 },
  ipAllow: ['10.0.0.0/8'],
  defaultFormat: 'json',
  disabled: false,
};

it('a form that was not touched changes nothing; one limit is sent alone', () => {
  const draft = draftOf(TEAM);
  expect(changesOf(draft, draft)).toEqual({});
  const limits = { ...draft.limits, maxConcurrent: '' };
  expect(changesOf(draft, { ...draft, limits, all: true })).toEqual({
    advertisers: '*',
    limits: { maxConcurrent: 32 },
  });
});

it('a new team is named by its id where nothing else is said, and sees no advertiser', () => {
  expect(bodyOf({ ...draftOf(null), id: ' b ' })).toMatchObject({ id: 'b', name: 'b', advertisers: [] });
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
