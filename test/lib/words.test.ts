import { expect, it } from 'vitest';
import { momentIn, roughly, sentence, spanOf, timeLeft } from '../../src/lib/words.js';

it.each([
  [0, 'less than a second'],
  [-999, 'less than a second'],
  [1000, '1 second'],
  [89_000, '89 seconds'],
  [899_000, '15 minutes'],
  [-3 * 3_600_000, '3 hours'],
  [86_400_000, '24 hours'],
  [10.4 * 86_400_000, '10 days'],
])('says %i ms roughly as "%s"', (ms, words) => {
  expect(roughly(ms)).toBe(words);
});

it.each([
  [9.6 * 86_400_000, '9 days'],
  [1.9 * 86_400_000, '1 day'],
  [59.9 * 60_000, '59 minutes'],
  [-1, 'less than a second'],
])('says of %i ms until an end that "%s" are left, never more than there are', (ms, words) => {
  expect(timeLeft(ms)).toBe(words);
});

it('says a moment of today by its time, and another by its date, with how far it is', () => {
  const now = Date.parse('2026-11-21T16:00:00.000Z');
  expect(momentIn(now + 900_000, now)).toBe('16:15 UTC (15 minutes)');
  expect(momentIn(Date.parse('2026-11-19T02:48:59.000Z'), now)).toBe('2026-11-19 02:48 UTC (3 days)');
});

it('says a time that is over by its begin and end, within a minute by that alone, and one that lasts since when', () => {
  const of = (from: string, until: string | null) =>
    spanOf(
      { from: `2026-11-21T${from}Z`, until: until && `2026-11-21T${until}Z` },
      Date.parse('2026-11-21T16:00:00Z'),
    );
  expect(of('15:54:10', '15:59:20')).toBe('15:54 to 15:59 UTC (5 minutes)');
  expect(of('15:54:10', '15:54:20')).toBe('15:54 UTC (10 seconds)');
  expect(of('15:54:10.000', '15:54:10.400')).toBe('15:54 UTC (less than a second)');
  expect(of('15:54:00', null)).toBe('since 15:54 UTC (6 minutes)');
});

it('makes a sentence of a message', () => {
  expect(['is empty', 'Gone.'].map(sentence)).toEqual(['Is empty.', 'Gone.']);
});
