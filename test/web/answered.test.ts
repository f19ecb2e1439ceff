/** How the explorer says how a report was answered, by the gateway's own headers. */
import { expect, it } from 'vitest';
import { type CacheStatus, writeCacheStatus } from '../../src/outcome.js';
import { answeredBy } from '../../src/web/explorer/answered.js';

const NONE: CacheStatus = {
  outcome: 'miss',
  ttlS: 60,
  tier: null,
  stored: true,
  degraded: false,
  days: null,
};

function said(status: Partial<CacheStatus>, age = 0): string {
  const headers = { 'cache-status': writeCacheStatus({ ...NONE, ...status }), age: String(age) };
  return answeredBy(new Headers(headers)).words;
}

it.each<[string, Partial<CacheStatus>, number]>([
  ['from the cache, no platform call, 1 min 30 s old', { outcome: 'hit', tier: 'l1' }, 90],
  ['from the cache, 10 s old; being refreshed', { outcome: 'stale' }, 10],
  ['from the cache, 10 s old: the platform does not respond', { outcome: 'stale-if-error' }, 10],
  ['just fetched from the platform', {}, 0],
  ['just fetched from the platform', { days: { fetched: 30, total: 30 } }, 0],
  ['29 of 30 days from the cache, just fetched', { days: { fetched: 1, total: 30 } }, 0],
  ['1 of 2 days from the cache, 5 s old', { outcome: 'refresh', days: { fetched: 1, total: 2 } }, 5],
  ['without its own platform call, 5 s old', { days: { fetched: 0, total: 30 } }, 5],
])('%s', (words, status, age) => {
  expect(said(status, age)).toBe(words);
});
