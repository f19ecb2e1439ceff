/** How old the explorer says the numbers of a report are, and which may still change, by the gateway's own headers. */
import { expect, it } from 'vitest';
import { type CacheStatus, writeCacheStatus } from '../../src/outcome.js';
import { ageWords, answeredBy, leftWords, openWords, togetherOf } from '../../src/web/explorer/answered.js';
import type { Meta } from '../../src/web/explorer/parse.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const MINUTE = 60_000;
const HIT: CacheStatus = {
  outcome: 'hit',
  ttlS: 2700,
  tier: 'l1',
  stored: true,
  degraded: false,
  days: null,
};

function answered(status: Partial<CacheStatus>, ageS: number, days: Meta['days'] = undefined) {
  const headers = { 'cache-status': writeCacheStatus({ ...HIT, ...status }), age: String(ageS) };
  const asOf = new Date(NOW - ageS * 1000).toISOString();
  return answeredBy(new Headers(headers), { asOf, ...(days && { days }) }, NOW);
}

const told = (...of: Parameters<typeof answered>) => [
  ageWords(answered(...of), NOW),
  leftWords(answered(...of), NOW),
  answered(...of).is,
];

it.each<[string, Partial<CacheStatus>, number, ReturnType<typeof told>]>([
  ['a hit', {}, 840, ['14 min old', '45 min', 'fresh']],
  ['a hit near its end', { ttlS: 59 }, 840, ['14 min old', null, 'fresh']],
  ['what was fetched for it', { outcome: 'miss' }, 0, ['less than a minute old', null, 'fresh']],
  ['one that is being refreshed', { outcome: 'stale', ttlS: -9 }, 3600, ['1 h old', null, 'refreshed']],
  ['one of a failing platform', { outcome: 'stale-if-error', ttlS: -9 }, 60, ['1 min old', null, 'away']],
])('of %s a person reads the age, and when newer numbers come', (_, status, ageS, words) => {
  expect(told(status, ageS)).toEqual(words);
});

it('the age is that of the days that may still change, and final days do not count', () => {
  const day = (date: string, final: boolean, ageMinutes: number) => {
    const asOf = new Date(NOW - ageMinutes * MINUTE).toISOString();
    return { date, final, asOf, stale: false };
  };
  const days = [day('2026-11-01', true, 20_000), day('2026-11-27', false, 5), day('2026-11-28', false, 7)];
  expect(told({}, 20_000 * 60, days)[0]).toBe('7 min old');
  expect(told({}, 20_000 * 60, days.slice(0, 1))[0]).toBe('13 d 21 h old');
});

it('several are as old as the oldest, and newer ones come with the first', () => {
  const all = [answered({ ttlS: 600 }, 60), answered({ outcome: 'miss' }, 0), answered({ ttlS: 300 }, 30)];
  const together = togetherOf(all);
  expect([ageWords(together, NOW), leftWords(together, NOW), together.is]).toEqual([
    '1 min old',
    '5 min',
    'fresh',
  ]);
  expect(togetherOf([...all, answered({ outcome: 'stale' }, 1)]).is).toBe('refreshed');
});

it('the days that may still change are told as a period, if the report says which', () => {
  const period = { from: '2026-10-30', to: '2026-11-28' };
  const open = (meta: Partial<Meta>) => openWords({ final: false, period, ...meta } as Meta);
  expect([
    open({ firstProvisionalDate: '2026-11-24' }),
    open({ firstProvisionalDate: '2026-11-28' }),
    open({ firstProvisionalDate: '2026-11-24', period: { from: '2026-10-30', to: null } }),
    open({}),
    open({ final: true }),
    open({ period: null }),
  ]).toEqual([
    'Nov 24 – 28, 2026',
    'Nov 28, 2026',
    'Days from Nov 24, 2026 on',
    'Some of these days',
    null,
    null,
  ]);
});
