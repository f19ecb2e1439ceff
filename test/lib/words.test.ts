import { expect, it } from 'vitest';
import { momentIn, roughly, sentence } from '../../src/lib/words.js';

it.each([
  [0, '0 seconds'],
  [1000, '1 second'],
  [89_000, '89 seconds'],
  [899_000, '15 minutes'],
  [-3 * 3_600_000, '3 hours'],
  [86_400_000, '24 hours'],
  [10.4 * 86_400_000, '10 days'],
])('says %i ms roughly as "%s"', (ms, words) => {
  expect(roughly(ms)).toBe(words);
});

it('says a moment of today by its time, and another by its date, with how far it is', () => {
  const now = Date.parse('2026-11-21T16:00:00.000Z');
  expect(momentIn(now + 900_000, now)).toBe('16:15 UTC (15 minutes)');
  expect(momentIn(Date.parse('2026-11-19T02:48:59.000Z'), now)).toBe('2026-11-19 02:48 UTC (3 days)');
});

it('makes a sentence of a message', () => {
  expect(['is empty', 'Gone.'].map(sentence)).toEqual(['Is empty.', 'Gone.']);
});
