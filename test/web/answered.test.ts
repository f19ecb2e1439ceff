/** How the explorer says how a report was answered, by the gateway's own headers. */
import { expect, it } from 'vitest';
import { type CacheStatus, writeCacheStatus } from '../../src/outcome.js';
import { answeredBy, isAwayIn } from '../../src/web/explorer/answered.js';

const NONE: CacheStatus = {
  outcome: 'miss',
  ttlS: 60,
  tier: null,
  stored: true,
  degraded: false,
  days: null,
};

function said(status: Partial<CacheStatus>, age = 0, all = 0): string {
  const headers = { 'cache-status': writeCacheStatus({ ...NONE, ...status }), age: String(age) };
  return answeredBy(new Headers(headers), all).words;
}

it.each<[string, Partial<CacheStatus>, number, number?]>([
  ['30 days from the cache, 1 min 30 s old', { outcome: 'hit', tier: 'l1' }, 90, 30],
  ['1 day from the cache', { outcome: 'hit', tier: 'l1' }, 0, 1],
  ['from the cache, 10 s old; being refreshed', { outcome: 'stale' }, 10],
  ['from the cache, 10 s old: the platform does not answer', { outcome: 'stale-if-error' }, 10],
  ['fetched from the platform now', {}, 0],
  ['fetched from the platform now', { days: { fetched: 30, total: 30 } }, 0],
  ['17 days fetched now, 13 from the cache', { days: { fetched: 17, total: 30 } }, 0],
  ['from the cache', { outcome: 'hit', tier: 'l1' }, 0],
  [
    '1 day fetched now, 1 from the cache, the oldest 5 s old',
    { outcome: 'refresh', days: { fetched: 1, total: 2 } },
    5,
  ],
  ['already fetched for another report, 5 s old; no extra call', { days: { fetched: 0, total: 30 } }, 5],
])('%s', (words, status, age, all) => {
  expect(said(status, age, all)).toBe(words);
});

it('an answer that is being refreshed has the words for a platform that fails meanwhile', () => {
  const of = (outcome: CacheStatus['outcome']) => {
    const headers = { 'cache-status': writeCacheStatus({ ...NONE, outcome }), age: '10' };
    return answeredBy(new Headers(headers));
  };
  expect(of('stale').ifAway).toEqual(of('stale-if-error'));
  expect([isAwayIn(of('stale')), isAwayIn(of('stale-if-error')), of('hit').ifAway]).toEqual([
    false,
    true,
    undefined,
  ]);
});
